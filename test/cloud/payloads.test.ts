import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Own, readWebhook } from '@posthorn/network/whatsapp-cloud/read-webhook.ts';

const OWN: Own = {
  phoneNumberId: '106540352242922',
  businessAccountId: '102290129340398',
  phone: '15550783881',
  now: new Date('2026-11-30T12:00:00Z'),
};
const PERSON = '16505551234';

/** A body as Meta's reference shows it, with one change. */
function read(field: string, value: Record<string, unknown>, own = OWN) {
  const metadata = { display_phone_number: own.phone, phone_number_id: own.phoneNumberId };
  const changes = [{ value: { messaging_product: 'whatsapp', metadata, ...value }, field }];
  const body = { object: 'whatsapp_business_account', entry: [{ id: own.businessAccountId, changes }] };
  return readWebhook(Buffer.from(JSON.stringify(body)), own);
}

const message = (type: string, part: unknown, more: Record<string, unknown> = {}) => ({
  ...{ from: PERSON, id: 'wamid.HBgLMTY1MDU1NTEyMzQVAgASGBQz=', timestamp: '1738796547', type, [type]: part },
  ...more,
});

/** The content of the one message that is told. */
function contentOf(said: Record<string, unknown>): Record<string, unknown> {
  const { told, passedOver } = read('messages', { messages: [said] });
  assert.equal(passedOver, 0);
  const messages = told.flatMap((each) => (each.kind === 'message' ? [each.message] : []));
  assert.equal(messages.length, 1);
  return messages[0]!.content;
}

describe('a webhook of the Cloud API', () => {
  it('tells an order with its products', () => {
    const items = [
      { product_retailer_id: 'HAMBURGER', quantity: 3, item_price: 30, currency: 'ILS' },
      { product_retailer_id: 'SODA', quantity: 2, item_price: 10.5, currency: 'ILS' },
    ];
    const order = { catalog_id: '354160437058781', text: 'No onions', product_items: items };
    assert.deepEqual(contentOf(message('order', order)), {
      order_id: 'wamid.HBgLMTY1MDU1NTEyMzQVAgASGBQz=',
      detail: order,
    });
    assert.deepEqual(contentOf(message('order', { catalog_id: '1', product_items: 'none' })).detail, {
      catalog_id: '1',
    });
  });

  it('tells the whole of a contact card', () => {
    const card = {
      addresses: [
        {
          city: 'Menlo Park',
          country: 'United States',
          state: 'CA',
          street: '1 Lucky Way; rear',
          zip: '94025',
        },
      ],
      birthday: '1999-01-23',
      emails: [{ email: 'barbara@example.com', type: 'Work' }],
      name: { first_name: 'Barbara', formatted_name: 'Barbara Johnson', last_name: 'Johnson' },
      org: { company: 'Social, Inc', department: 'Sales', title: 'Lead' },
      phones: [{ phone: '+1 (650) 555-9999', wa_id: '16505559999', type: 'Mobile' }],
      urls: [{ url: 'https://www.example.com/?a=1,2', type: 'Company' }],
    };
    assert.deepEqual(contentOf(message('contacts', [card])).contacts, [
      {
        name: 'Barbara Johnson',
        phone: '+16505559999',
        vcard: [
          ...['BEGIN:VCARD', 'VERSION:3.0', 'FN:Barbara Johnson'],
          'TEL;type=CELL;waid=16505559999:+1 (650) 555-9999',
          'EMAIL:barbara@example.com',
          String.raw`ORG:Social\, Inc;Sales`,
          'TITLE:Lead',
          String.raw`ADR:;;1 Lucky Way\; rear;Menlo Park;CA;94025;United States`,
          'URL:https://www.example.com/?a=1,2',
          'BDAY:1999-01-23',
          'END:VCARD',
        ].join('\n'),
      },
    ]);
  });

  it('tells the card that somebody gives when they are asked for their number, which is a vCard', () => {
    const vcard =
      'BEGIN:VCARD\nVERSION:3.0\nFN:Pablo Morales\nEMAIL:p@example.com\nTEL:+16505551234\nEND:VCARD';
    const said = message('contacts', [{ vcard, phones: [{ phone: '+16505551234' }] }], {
      origin: 'contact_request',
    });
    assert.deepEqual(contentOf(said).contacts, [{ name: 'Pablo Morales', vcard }]);
  });

  it('tells that card in the chat of its contact where the message itself names nobody', () => {
    const { from: _, ...said } = message('contacts', [{ phones: [{ phone: '+16505551234' }] }]);
    const pablo = { profile: { name: 'Pablo', username: 'pablo' }, user_id: 'US.13491208655302741918' };
    const { told } = read('messages', { contacts: [pablo], messages: [said] });
    const chats = told.map((each) => each.kind === 'message' && [each.message.chat, each.message.pushName]);
    assert.deepEqual(chats, [['US.13491208655302741918@bsuid', 'Pablo']]);
    const ana = { ...pablo, user_id: 'US.2' };
    assert.equal(read('messages', { contacts: [pablo, ana], messages: [said] }).passedOver, 1);
  });

  it('with older messages of a number that is used on a phone as well tells none as new', () => {
    const image = { caption: 'Echeveria', mime_type: 'image/jpeg', sha256: '3f9d', id: '24230790383178626' };
    const ofBefore = [message('image', image), message('image', image, { from: OWN.phone })];
    assert.deepEqual(read('history', { messages: ofBefore }), { told: [], passedOver: 0 });
    const former = { phoneNumberId: '1065', phone: '15550783000', untilMs: OWN.now.getTime() };
    const before = { ...OWN, phoneNumberId: former.phoneNumberId, former };
    assert.deepEqual(read('history', { messages: ofBefore }, before), { told: [], passedOver: 0 });
  });

  it('about somebody who has another phone is no message of theirs', () => {
    const system = { body: 'User identity changed', type: 'customer_identity_changed' };
    const identity = { acknowledged: true, created_timestamp: '1697044706', hash: 'xyzxyz' };
    assert.deepEqual(read('messages', { messages: [message('system', system, { identity })] }), {
      told: [],
      passedOver: 0,
    });
  });

  it('that announces another category of a template does not say that it has one', () => {
    const template = {
      ...{ message_template_id: 278077987957091, message_template_name: 'welcome_template' },
      message_template_language: 'en-US',
    };
    const announced = {
      correct_category: 'MARKETING',
      new_category: 'UTILITY',
      category_update_timestamp: 1760711433,
    };
    assert.deepEqual(read('template_category_update', { ...template, ...announced }).told, []);
    const done = { previous_category: 'UTILITY', new_category: 'MARKETING' };
    assert.equal(read('template_category_update', { ...template, ...done }).told.length, 1);
  });
});
