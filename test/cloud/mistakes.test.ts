import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bodyOf, signatureOf } from '@posthorn/network/sandbox/graph/post.ts';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

const PERSON = '5531900000020';

/**
 * Mistakes of other gateways with this API. Forged and unsigned webhooks, all changes of a body, the unsigned
 * challenge, doubles and people without numbers are in webhooks.test.ts, errors in limits.test.ts, and a dead token in
 * connecting.test.ts.
 */
describe('mistakes of others with the Cloud API', () => {
  let cloud: CloudSending;
  let instance: CloudInstance;
  before(async () => {
    cloud = await startCloudSending();
    instance = await cloud.connect({ humanize_enabled: false });
    await cloud.greet(instance, PERSON);
  });
  after(() => cloud?.close());

  const text = () => cloud.send(instance, '/messages/text', { to: PERSON, text: 'Hello' });
  async function post(field: string, more: Record<string, unknown>) {
    const value = {
      metadata: { phone_number_id: instance.number.id, display_phone_number: 'whatever' },
      ...more,
    };
    const body = bodyOf(instance.number, [{ field, value }]);
    const url = `${cloud.api.url}/v1/webhooks/whatsapp-cloud/${instance.id}`;
    const headers = { 'x-hub-signature-256': signatureOf(instance.number.appSecret, body) };
    return (await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })).status;
  }
  const status = (id: string, name: string, more = {}) => ({
    ...{ id, status: name, timestamp: '1790000000', recipient_id: PERSON },
    ...more,
  });
  const nameOf = (id: string) => id.replaceAll('-', '').toUpperCase();

  it('a status never goes backwards, in any order of arrival', async () => {
    cloud.graph.poster(instance.number).hold(true);
    const id = await text();
    const named = { biz_opaque_callback_data: nameOf(id) };
    for (const step of ['read', 'sent', 'delivered', 'read', 'sent'])
      assert.equal(await post('messages', { statuses: [status('wamid.BACK', step, named)] }), 200);
    await cloud.reaches(instance, id, 'read');
    cloud.graph.poster(instance.number).hold(false);
    await cloud.drained();
    assert.equal((await cloud.status(instance, id)).status, 'read');
    assert.deepEqual(
      (await cloud.eventsOf(id)).map(({ type }) => type),
      ['message.sent', 'message.delivered', 'message.read'],
    );
  });

  it('a status of a message that nobody knows costs those beside it nothing', async () => {
    const id = await text();
    await cloud.reaches(instance, id, 'delivered');
    const statuses = [
      status('wamid.NEVER_SEEN', 'delivered'),
      status('wamid.NEVER_SEEN', 'failed', { errors: [{ code: 131026 }] }),
      status('wamid.X', 'unheard_of'),
      status('wamid.Y', 'read', { recipient_id: undefined }),
      status('wamid.Z', 'read', { biz_opaque_callback_data: nameOf(id) }),
    ];
    assert.equal(await post('messages', { statuses }), 200);
    await cloud.reaches(instance, id, 'read');
  });

  it('a status that names the message by the network’s id alone finds it', async () => {
    const id = await text();
    await cloud.reaches(instance, id, 'delivered');
    const wamid = cloud.graph.world.ledger.find(({ callbackData }) => callbackData === nameOf(id))!.id;
    await post('messages', { statuses: [status(wamid, 'read')] });
    await cloud.reaches(instance, id, 'read');
  });

  it('numbers are identified by their id, so a ninth digit that comes and goes changes nothing', async () => {
    const message = {
      id: 'wamid.NINTH',
      from: PERSON,
      timestamp: '1790000000',
      type: 'text',
      text: { body: 'Ninth' },
    };
    const value = {
      messages: [message],
      metadata: { phone_number_id: instance.number.id, display_phone_number: '5511900000' },
    };
    await post('messages', value);
    await waitFor(async () =>
      (await cloud.events(instance.id, 'text.received')).some(({ data }) => data.content.text === 'Ninth'),
    );
  });

  it('an edit and a deletion that come before their messages count for them', async () => {
    const said = (id: string, words: string) => ({
      ...{ id, from: PERSON, timestamp: '1790000000', type: 'text', text: { body: words } },
    });
    const about = (id: string) => ({ ...said(`wamid.ABOUT_${id}`, ''), text: undefined });
    const edit = {
      original_message_id: 'wamid.EDITED',
      message: { type: 'text', text: { body: 'New words' } },
    };
    const changes = [
      { ...about('E'), type: 'edit', edit },
      { ...about('D'), type: 'revoke', revoke: { original_message_id: 'wamid.GONE' } },
    ];
    await post('messages', { messages: changes });
    await cloud.drained();
    await post('messages', { messages: [said('wamid.EDITED', 'Old words'), said('wamid.GONE', 'Said')] });
    const find = async (id: string) => (await cloud.call(instance.id, 'GET', `/message/${id}`)).body;
    const gone = await waitFor(async () => {
      const found = await find('wamid.GONE');
      return found.deleted_at && found;
    });
    assert.deepEqual([gone.content, (await find('wamid.EDITED')).content], [{}, { text: 'New words' }]);
    const told = async (type: string) =>
      (await cloud.events(instance.id, type)).map(({ data }) => data.message_ids[0]);
    assert.deepEqual(await told('message.deleted'), [gone.message_id]);
    assert.equal((await told('message.edited')).length, 1);
  });

  it('a failure that follows `sent` causes an event, and one that follows `delivered` does not', async () => {
    cloud.graph.poster(instance.number).hold(true);
    const [failing, delivered] = [await text(), await text()];
    const fail = (id: string) =>
      status(`wamid.${id}`, 'failed', { biz_opaque_callback_data: nameOf(id), errors: [{ code: 131049 }] });
    await post('messages', {
      statuses: [status('wamid.A', 'sent', { biz_opaque_callback_data: nameOf(failing) })],
    });
    await cloud.reaches(instance, failing, 'sent');
    await post('messages', {
      statuses: [status('wamid.B', 'delivered', { biz_opaque_callback_data: nameOf(delivered) })],
    });
    await cloud.reaches(instance, delivered, 'delivered');
    await post('messages', { statuses: [fail(failing), fail(delivered)] });
    await cloud.reaches(instance, failing, 'failed');
    assert.equal((await cloud.status(instance, failing)).failed_reason, 'marketing_limited');
    assert.equal((await cloud.status(instance, delivered)).status, 'delivered');
    const told = (await cloud.eventsOf(failing)).map(({ type, data }) => [type, data.wire_state]);
    assert.deepEqual(told, [
      ['message.sent', undefined],
      ['text.delivery_failed', 'sent'],
    ]);
    cloud.graph.poster(instance.number).hold(false);
  });
});
