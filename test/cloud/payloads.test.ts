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
});
