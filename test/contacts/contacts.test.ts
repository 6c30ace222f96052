import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CONTACTS_CHECK_MAX } from '@posthorn/contract/limits.ts';
import { settled } from '../labels/label-state.ts';
import { seedInstance } from '../support/seed.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending();
  instance = await pipeline.connect();
});
after(() => pipeline.close());

async function ask(method: string, path: string, body?: unknown, of = instance) {
  const answer = await pipeline.call(of, method, path, body, { 'idempotency-key': '' });
  return { status: answer.status, code: answer.body?.error_code, body: answer.body };
}

const jidOf = (phone: string) => `${phone}@s.whatsapp.net`;

/** Saves numbers on the phone of the instance. */
async function save(body: object, of = instance) {
  await pipeline.sandbox.post(`/phones/${of.phone}/contacts`, body);
  await settled(pipeline, of);
}

describe('contacts', () => {
  test('are the saved people of the phone, and those who have written', async () => {
    const [saved, writer] = [pipeline.newPhone(), pipeline.newPhone()];
    await save({ add: [saved], name: 'Zé do Bairro' });
    await pipeline.sandbox.post('/phones', { phone: writer, name: 'Ana' });
    await pipeline.sandbox.post(`/phones/${writer}/messages`, { to: instance.phone, text: 'hi' });
    await settled(pipeline, instance);
    const one = await ask('GET', `/contacts/+${saved}`);
    assert.deepEqual(
      [one.status, { ...one.body, updated_at: '' }],
      [
        200,
        {
          jid: jidOf(saved),
          phone: saved,
          name: 'Zé do Bairro',
          push_name: '',
          saved: true,
          blocked: false,
          updated_at: '',
        },
      ],
    );
    const { name, push_name, saved: isSaved } = (await ask('GET', `/contacts/${jidOf(writer)}`)).body;
    assert.deepEqual([name, push_name, isSaved], ['', 'Ana', false]);
    await save({ add: [writer], name: 'Ana Souza' });
    assert.equal(
      (await ask('GET', `/chats/${writer}`)).body.name,
      'Ana Souza',
      'the phone’s name goes first',
    );
    await save({ remove: [writer] });
    assert.equal((await ask('GET', `/contacts/${writer}`)).body.saved, false);
    assert.equal((await ask('GET', `/chats/${writer}`)).body.name, 'Ana');
  });

  test('are gone once the phone has removed them and they never wrote, but for those it blocks', async () => {
    const own = await pipeline.connect();
    const [removed, blocked] = [pipeline.newPhone(), pipeline.newPhone()];
    await save({ add: [removed], name: 'Removed' }, own);
    await save({ add: [blocked], name: 'Blocked' }, own);
    assert.equal((await ask('POST', `/contacts/${blocked}/block`, undefined, own)).status, 200);
    await save({ remove: [removed] }, own);
    await save({ remove: [blocked] }, own);
    const { data } = (await ask('GET', '/contacts', undefined, own)).body;
    assert.deepEqual(
      data.map((contact: { phone: string }) => contact.phone),
      [blocked],
    );
    assert.equal((await ask('GET', `/contacts?search=${removed}`, undefined, own)).body.data.length, 0);
    assert.equal((await ask('GET', `/contacts/${removed}`, undefined, own)).status, 404);
    await save({ add: [removed], name: 'Back' }, own);
    assert.equal((await ask('GET', `/contacts/${removed}`, undefined, own)).body.name, 'Back');
  });

  test('that are not there answer 404', async () => {
    for (const nobody of ['5511900000000', '12', 'nobody@nowhere']) {
      const answer = await ask('GET', `/contacts/${nobody}`);
      assert.deepEqual([answer.status, answer.code], [404, 'NOT_FOUND'], nobody);
    }
  });

  test('are listed by name, and found by the beginning of a name or of a number', async () => {
    const own = await pipeline.connect();
    const phones = ['5511700000001', '5511700000002', '5521700000003', '5521700000004', '5531700000005'];
    const names = ['bruno', 'Ana', 'ana maria', 'Ênio', 'Zoe 100%'];
    for (const [at, phone] of phones.entries()) {
      await pipeline.sandbox.post(`/phones/${own.phone}/contacts`, { add: [phone], name: names[at] });
    }
    await settled(pipeline, own);
    const list = async (query: string) => {
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const more: string = cursor ? `&before=${cursor}` : '';
        const { status, body } = await ask('GET', `/contacts?limit=2${query}${more}`, undefined, own);
        assert.equal(status, 200, JSON.stringify(body));
        found.push(...body.data.map((contact: { name: string }) => contact.name));
        cursor = body.next_cursor;
      } while (cursor);
      return found;
    };
    assert.deepEqual(await list(''), ['Ana', 'ana maria', 'bruno', 'Zoe 100%', 'Ênio']);
    assert.deepEqual(await list('&search=ANA'), ['Ana', 'ana maria']);
    assert.deepEqual(await list(`&search=${encodeURIComponent('ê')}`), ['Ênio']);
    assert.deepEqual(await list(`&search=${encodeURIComponent('zoe 100%')}`), ['Zoe 100%']);
    assert.deepEqual(await list('&search=%25'), []);
    assert.deepEqual(await list('&search=%2B5521'), ['ana maria', 'Ênio']);
    assert.deepEqual(await list(`&search=${encodeURIComponent('55 (11) 7')}`), ['bruno', 'Ana']);
    assert.deepEqual(await list('&search=99'), []);
    for (const query of ['before=nonsense', 'limit=0', 'search=']) {
      const answer = await ask('GET', `/contacts?${query}`, undefined, own);
      assert.deepEqual([answer.status, answer.code], [400, 'BAD_REQUEST'], query);
    }
  });
});

describe('checking numbers', () => {
  test('returns in order which numbers have an account', async () => {
    const [known, business] = [pipeline.newPhone(), pipeline.newPhone()];
    await pipeline.sandbox.post('/phones', { phone: known });
    await pipeline.sandbox.post('/phones', { phone: business, business: true });
    const answer = await ask('POST', '/contacts/check', { phones: [`+${known}`, '5511900000000', business] });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body.contacts, [
      { phone: known, exists: true, jid: jidOf(known), is_business: false },
      { phone: '5511900000000', exists: false, jid: null, is_business: false },
      { phone: business, exists: true, jid: jidOf(business), is_business: true },
    ]);
  });

  test(`takes 1 to ${CONTACTS_CHECK_MAX} numbers, and nothing else`, async () => {
    const phones = (count: number) => Array.from({ length: count }, (_, n) => String(5_511_800_000_000 + n));
    const most = await ask('POST', '/contacts/check', { phones: phones(CONTACTS_CHECK_MAX) });
    assert.deepEqual([most.status, most.body.contacts.length], [200, CONTACTS_CHECK_MAX]);
    for (const [body, code] of [
      [{}, 'MISSING_FIELD'],
      [{ phones: [] }, 'BAD_REQUEST'],
      [{ phones: phones(CONTACTS_CHECK_MAX + 1) }, 'BAD_REQUEST'],
      [{ phones: ['12'] }, 'INVALID_PHONE'],
      [{ phones: ['5511900000000@s.whatsapp.net'] }, 'INVALID_PHONE'],
      [{ phones: ['BR.5511900000000'] }, 'INVALID_PHONE'],
      [{ phones: '5511900000000' }, 'BAD_REQUEST'],
    ] as const) {
      const answer = await ask('POST', '/contacts/check', body);
      assert.deepEqual([answer.status, answer.code], [400, code], JSON.stringify(body).slice(0, 60));
    }
  });
});

describe('blocking', () => {
  test('keeps a contact’s messages away until it is unblocked', async () => {
    const phone = pipeline.newPhone();
    const blocked = await ask('POST', `/contacts/+${phone}/block`);
    assert.deepEqual([blocked.status, blocked.body], [200, { jid: jidOf(phone), blocked: true }]);
    assert.equal((await ask('GET', `/contacts/${phone}`)).body.blocked, true);
    assert.deepEqual((await pipeline.sandbox.get(`/phones/${instance.phone}`)).blocked, [phone]);
    await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text: 'lost' });
    const free = await ask('DELETE', `/contacts/${jidOf(phone)}/block`);
    assert.deepEqual([free.status, free.body], [200, { jid: jidOf(phone), blocked: false }]);
    await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text: 'heard' });
    await settled(pipeline, instance);
    const chat = (await ask('GET', `/chats/${phone}`)).body;
    assert.deepEqual([chat.unread_count, chat.last_message.preview], [1, 'heard']);
    assert.equal((await ask('GET', `/contacts/${phone}`)).body.blocked, false);
  });

  test('on the phone arrives', async () => {
    const phone = pipeline.newPhone();
    await pipeline.sandbox.post(`/phones/${instance.phone}/block`, { phone });
    await settled(pipeline, instance);
    assert.equal((await ask('GET', `/contacts/${phone}`)).body.blocked, true);
  });

  test('refuses an invalid contact, and an instance that is not connected', async () => {
    for (const [contact, code] of [
      ['12', 'INVALID_PHONE'],
      ['nobody@nowhere', 'INVALID_RECIPIENT'],
      ['120363041234567890@g.us', 'INVALID_RECIPIENT'],
    ] as const) {
      for (const method of ['POST', 'DELETE']) {
        const answer = await ask(method, `/contacts/${contact}/block`);
        assert.deepEqual([answer.status, answer.code], [400, code], `${method} ${contact}`);
      }
    }
    const { db } = pipeline.api.parts;
    const id = await seedInstance(db, pipeline.company.companyId, { state: 'DISCONNECTED' });
    const away = { id, phone: '', jid: '' };
    for (const [method, path, body] of [
      ['POST', '/contacts/5511900000000/block', undefined],
      ['DELETE', '/contacts/5511900000000/block', undefined],
      ['POST', '/contacts/check', { phones: ['5511900000000'] }],
    ] as const) {
      const answer = await ask(method, path, body, away);
      assert.deepEqual([answer.status, answer.code], [409, 'INSTANCE_NOT_CONNECTED'], `${method} ${path}`);
    }
  });
});
