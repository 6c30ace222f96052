import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { RAW_BODY_MAX_BYTES } from '@posthorn/contract/limits.ts';
import { bodyOf, signatureOf } from '@posthorn/network/sandbox/graph/post.ts';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

const FROM = '5531900000002';

describe('webhooks of the Cloud API', () => {
  let cloud: CloudSending;
  let instance: CloudInstance;
  before(async () => {
    cloud = await startCloudSending();
    instance = await cloud.connect();
  });
  after(() => cloud?.close());

  const url = () => `${cloud.api.url}/v1/webhooks/whatsapp-cloud/${instance.id}`;
  /** Posts these bytes as Meta would. */
  async function post(body: Buffer, signature = signatureOf(instance.number.appSecret, body), to = url()) {
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature };
    const response = await fetch(to, { method: 'POST', headers, body: new Uint8Array(body) });
    return { status: response.status, body: await response.json() };
  }
  const value = (more: Record<string, unknown>) => ({
    messaging_product: 'whatsapp',
    metadata: { phone_number_id: instance.number.id },
    ...more,
  });
  let count = 0;
  const text = (body: string, more: Record<string, unknown> = {}) => {
    count += 1;
    return {
      id: `wamid.TEST${count}`,
      from: FROM,
      timestamp: '1790000000',
      type: 'text',
      text: { body },
      ...more,
    };
  };
  const texts = async () =>
    (await cloud.events(instance.id, 'text.received')).map(({ data }) => data.content.text as string);
  const received = (body: string) =>
    waitFor(async () => (await texts()).includes(body), undefined, { what: body });
  const waiting = async () => {
    const { rows } = await cloud.api.parts.db.query<{ n: number }>(
      'SELECT count(*)::integer AS n FROM network_inbox',
    );
    return rows[0]!.n;
  };

  it('are signed over their bytes: accents, slashes and at signs as Meta escapes them', async () => {
    const body = bodyOf(instance.number, [{ field: 'messages', value: value({ messages: [text('é@/ñ')] }) }]);
    assert.match(body.toString(), /\\u00e9\\u0040/);
    assert.deepEqual(await post(body), { status: 200, body: { received: true } });
    await received('é@/ñ');
  });

  it('that are forged, re-serialised, unsigned, too large or for nobody are refused and stored nowhere', async () => {
    const body = bodyOf(instance.number, [
      { field: 'messages', value: value({ messages: [text('forged@')] }) },
    ]);
    await cloud.drained();
    const secret = signatureOf(instance.number.appSecret, body);
    const reserialised = Buffer.from(JSON.stringify(JSON.parse(body.toString())));
    const nobody = `${cloud.api.url}/v1/webhooks/whatsapp-cloud/01a20e90-9389-704e-a693-f5b3a7e16e95`;
    assert.equal((await post(body, signatureOf('another-secret', body))).status, 401);
    assert.equal((await post(reserialised, secret)).status, 401);
    assert.equal((await post(body, '')).status, 401);
    assert.equal((await post(body, 'sha256=00')).status, 401);
    assert.equal((await post(body, secret, nobody)).status, 404);
    assert.equal((await post(Buffer.alloc(RAW_BODY_MAX_BYTES + 1, 32))).status, 413);
    assert.equal(await waiting(), 0);
    assert.ok(!(await texts()).includes('forged@'));
  });

  it('are up to 3 MB large', async () => {
    const body = bodyOf(instance.number, [
      { field: 'messages', value: value({ messages: [text('large')] }) },
    ]);
    const padded = Buffer.concat([body, Buffer.alloc(RAW_BODY_MAX_BYTES - body.length, 32)]);
    assert.equal((await post(padded)).status, 200);
    await received('large');
  });

  it('answer the unsigned challenge of the subscription, for its own verify token alone', async () => {
    const asked = (query: Record<string, string>) => fetch(`${url()}?${new URLSearchParams(query)}`);
    const { verifyToken } = instance.number.webhook!;
    const good = { 'hub.mode': 'subscribe', 'hub.challenge': '1158201444', 'hub.verify_token': verifyToken };
    const answer = await asked(good);
    assert.deepEqual([answer.status, await answer.text()], [200, '1158201444']);
    assert.match(answer.headers.get('content-type')!, /^text\/plain/);
    assert.equal((await asked({ ...good, 'hub.verify_token': 'guess' })).status, 401);
    assert.equal((await asked({ 'hub.mode': 'subscribe' })).status, 401);
  });

  it('carry several entries, changes and items, and one bad item loses only itself', async () => {
    const changes = [
      { field: 'messages', value: value({ messages: [text('one'), null, { type: 'text' }, text('two')] }) },
      { field: 'messages', value: null },
      { field: 'something_new', value: value({ news: [1] }) },
      { field: 'messages', value: value({ messages: 'none', statuses: [{ id: 7 }] }) },
      {
        field: 'messages',
        value: value({ messages: [text('three', { unheard_of: {}, context: 'wrong' })] }),
      },
      {
        field: 'messages',
        value: { metadata: { phone_number_id: '999' }, messages: [text('of another number')] },
      },
    ];
    const entries = {
      object: 'x',
      entry: [
        { id: '1', changes: changes.slice(0, 2) },
        { nothing: 1 },
        { id: '2', changes: changes.slice(2) },
      ],
    };
    assert.equal((await post(Buffer.from(JSON.stringify(entries)))).status, 200);
    for (const odd of ['not JSON', '[]', '{"entry":7}'])
      assert.equal((await post(Buffer.from(odd))).status, 200);
    await received('three');
    await cloud.drained();
    const came = (await texts()).filter((each) =>
      ['one', 'two', 'three', 'of another number'].includes(each),
    );
    assert.deepEqual(came, ['one', 'two', 'three']);
  });

  it('that come twice cause one event', async () => {
    const body = bodyOf(instance.number, [
      { field: 'messages', value: value({ messages: [text('twice')] }) },
    ]);
    await Promise.all([post(body), post(body), post(body)]);
    await cloud.drained();
    assert.equal((await texts()).filter((each) => each === 'twice').length, 1);
  });

  it('with messages of unknown types are recorded as unknown, and none is dropped', async () => {
    const kinds = ['poll_creation', 'unsupported', 'future'];
    const messages = kinds.map((type) => ({ ...text('x'), type, errors: [{ code: 131051 }] }));
    await post(bodyOf(instance.number, [{ field: 'messages', value: value({ messages }) }]));
    await waitFor(async () => (await cloud.events(instance.id, 'unknown.received')).length === kinds.length);
  });

  it('record messages that were typed on the number’s own phone as its own', async () => {
    const id = cloud.graph.echo(instance.number, FROM, 'text', { body: 'From the app' });
    const told = await waitFor(async () =>
      (await cloud.events(instance.id, 'message.sent')).find(
        ({ data }) => data.content?.text === 'From the app',
      ),
    );
    assert.deepEqual([told.data.is_from_me, told.data.chat], [true, `${FROM}@s.whatsapp.net`]);
    cloud.graph.status([...cloud.graph.world.messages.values()].find((each) => each.id === id)!, 'delivered');
    await waitFor(async () =>
      (await cloud.eventsOf(told.data.message_ids[0])).some(({ type }) => type === 'message.delivered'),
    );
  });

  it('edit and delete the messages of their author', async () => {
    const original = text('Befor');
    const edit = {
      ...text(''),
      type: 'edit',
      edit: { original_message_id: original.id, message: { type: 'text', text: { body: 'Before' } } },
    };
    const gone = text('Gone');
    const revoke = { ...text(''), type: 'revoke', revoke: { original_message_id: gone.id } };
    await post(
      bodyOf(instance.number, [
        { field: 'messages', value: value({ messages: [original, gone, edit, revoke] }) },
      ]),
    );
    await waitFor(async () => (await cloud.events(instance.id, 'message.edited')).length > 0);
    await waitFor(async () => (await cloud.events(instance.id, 'message.deleted')).length > 0);
  });

  it('from people without a number reach a chat of their own, which can be answered', async () => {
    const userId = 'BR.13491208655302741918';
    cloud.graph.person(userId, { name: 'Nameless' });
    cloud.graph.write(userId, instance.number, 'text', { body: 'No number' });
    await received('No number');
    const event = (await cloud.events(instance.id, 'text.received')).find(
      ({ data }) => data.content.text === 'No number',
    )!;
    assert.deepEqual(
      [event.data.chat, event.data.phone, event.data.push_name],
      [`${userId}@bsuid`, '', 'Nameless'],
    );
    const answer = await cloud.send(instance, '/messages/text', { to: event.data.chat, text: 'Hello' });
    await cloud.reaches(instance, answer, 'delivered');
    const { body } = cloud.graph.world.ledger.at(-1)!;
    assert.deepEqual([body.recipient, body.to], [userId, undefined]);
    const chat = await cloud.call(instance.id, 'GET', `/chats/${encodeURIComponent(event.data.chat)}`);
    assert.equal(chat.status, 200, chat.text);
  });

  it('from people who hide their number later stay in the chat of that number', async () => {
    const person = cloud.graph.person('5531900000077', { userId: 'BR.777', name: 'Shy' });
    cloud.graph.write(person.phone, instance.number, 'text', { body: 'With number' });
    await received('With number');
    person.showsPhone = false;
    cloud.graph.write(person.phone, instance.number, 'text', { body: 'Without number' });
    await received('Without number');
    const chats = (await cloud.events(instance.id, 'text.received'))
      .filter(({ data }) => /number$/.test(data.content.text) && data.push_name === 'Shy')
      .map(({ data }) => data.chat);
    assert.deepEqual(chats, ['5531900000077@s.whatsapp.net', '5531900000077@s.whatsapp.net']);
  });

  it('are handed over by the next owner when they came while the instance was not connected', async () => {
    const other = await cloud.connect();
    await cloud.call(other.id, 'POST', '/disconnect');
    await cloud.state(other.id, 'DISCONNECTED');
    cloud.graph.write(FROM, other.number, 'text', { body: 'While away' });
    await waitFor(async () => (await waiting()) === 1);
    await cloud.call(other.id, 'POST', '/connect');
    await waitFor(async () => (await cloud.events(other.id, 'text.received')).length === 1);
    await cloud.drained();
  });

  it('are recorded in the order in which they came, also when their sequence numbers gain a digit', async () => {
    const { db } = cloud.api.parts;
    await cloud.call(instance.id, 'POST', '/disconnect');
    await cloud.state(instance.id, 'DISCONNECTED');
    const sequence = `pg_get_serial_sequence('network_inbox', 'id')`;
    await db.query(`SELECT setval(${sequence}, 9998)`);
    const bodies = ['one', 'two', 'three', 'four'].map((body) => `${body} of four`);
    for (const body of bodies)
      await post(bodyOf(instance.number, [{ field: 'messages', value: value({ messages: [text(body)] }) }]));
    const { rows } = await db.query<{ id: string }>('SELECT id::text FROM network_inbox');
    assert.deepEqual(rows.map(({ id }) => id).sort(), ['10000', '10001', '10002', '9999']);
    await cloud.call(instance.id, 'POST', '/connect');
    await received('four of four');
    assert.deepEqual(
      (await texts()).filter((each) => each.endsWith('of four')),
      bodies,
    );
  });

  it('are not kept for an instance that is deleted while they come in', async () => {
    const other = await cloud.connect();
    const body = bodyOf(other.number, [{ field: 'messages', value: { messages: [text('late')] } }]);
    const posted = request(`${cloud.api.url}/v1/webhooks/whatsapp-cloud/${other.id}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': body.length,
        'x-hub-signature-256': signatureOf(other.number.appSecret, body),
      },
    });
    const answered = once(posted, 'response') as Promise<[IncomingMessage]>;
    posted.write(body.subarray(0, 10));
    // Long enough for the server to have looked the instance up.
    await delay(500);
    assert.equal((await cloud.call(other.id, 'DELETE', '')).status, 204);
    posted.end(body.subarray(10));
    const [answer] = await answered;
    answer.resume();
    assert.equal(answer.statusCode, 404);
    const { rowCount } = await cloud.api.parts.db.query('SELECT FROM network_inbox WHERE instance_id = $1', [
      other.id,
    ]);
    assert.equal(rowCount, 0);
  });

  it('download received media, and say when it is not available', async () => {
    const bytes = Buffer.from('a document of some bytes');
    const id = cloud.graph.addMedia(instance.number, bytes, 'application/pdf');
    cloud.graph.write(FROM, instance.number, 'document', {
      id,
      mime_type: 'application/pdf',
      filename: 'a.pdf',
      caption: 'Read',
    });
    const event = await waitFor(async () => (await cloud.events(instance.id, 'document.received'))[0]);
    assert.deepEqual([event.data.content.caption, event.data.content.file_name], ['Read', 'a.pdf']);
    const file = await fetch(`${cloud.api.url}/v1/instances/${instance.id}/media/${event.data.media_id}`, {
      headers: { 'x-api-key': cloud.company.apiKey },
    });
    assert.ok(Buffer.from(await file.arrayBuffer()).equals(bytes));
    cloud.graph.write(FROM, instance.number, 'image', { id: '1234567890', mime_type: 'image/png' });
    const gone = await waitFor(async () => (await cloud.events(instance.id, 'image.received'))[0]);
    assert.equal(gone.data.incomplete_reason, 'media_expired');
  });
});
