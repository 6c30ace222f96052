import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { listen } from '../support/listen.ts';

const PERSON = '5531900000031';

describe('blocking somebody on an official number', () => {
  let cloud: CloudSending;
  let instance: CloudInstance;
  /** The answer to the next request to block, in place of the network's. */
  let answer: { status: number; body: unknown } | null = null;
  const gateway = createServer((from, to) => {
    if (answer && from.url!.endsWith('/block_users')) {
      const { status, body } = answer;
      from.resume().once('end', () => to.writeHead(status).end(JSON.stringify(body)));
      return;
    }
    const url = new URL(from.url!, cloud.graph.url);
    const passed = request(url, { method: from.method!, headers: from.headers }, (answered) =>
      answered.pipe(to.writeHead(answered.statusCode!, answered.headers)),
    );
    from.pipe(passed);
  });
  before(async () => {
    const port = await listen(gateway);
    cloud = await startCloudSending({ graphUrl: `http://127.0.0.1:${port}` });
    instance = await cloud.connect({ humanize_enabled: false });
    await cloud.greet(instance, PERSON);
  });
  after(async () => {
    await cloud?.close();
    gateway.closeAllConnections();
    gateway.close();
  });

  const block = (person = PERSON, method = 'POST') =>
    cloud.call(instance.id, method, `/contacts/${person}/block`);
  const isBlocked = async (person = PERSON) =>
    (await cloud.call(instance.id, 'GET', `/contacts/${person}`)).body.blocked;

  it('is shown once the network has blocked them, and again once it has not', async () => {
    assert.equal((await block()).status, 200);
    assert.deepEqual([await isBlocked(), cloud.graph.person(PERSON).blocked], [true, true]);
    assert.equal((await block(PERSON, 'DELETE')).status, 200);
    assert.deepEqual([await isBlocked(), cloud.graph.person(PERSON).blocked], [false, false]);
  });

  it('fails where the network answers that it has not blocked them', async () => {
    const errors = [{ message: 'Re-engagement required', code: 131047 }];
    const block_users = { failed_users: [{ input: PERSON, wa_id: PERSON, errors }] };
    answer = { status: 200, body: { messaging_product: 'whatsapp', block_users } };
    const refused = await block();
    answer = null;
    assert.deepEqual([refused.status, refused.body.error_code], [502, 'SEND_FAILED']);
    assert.equal(await isBlocked(), false);
  });

  for (const code of [3, 10, 200])
    it(`fails alone where the token lacks the permission for it (code ${code})`, async () => {
      answer = { status: 403, body: { error: { message: 'no permission', type: 'OAuthException', code } } };
      const refused = await block();
      answer = null;
      assert.deepEqual([refused.status, refused.body.error_code], [502, 'SEND_FAILED']);
      const id = await cloud.send(instance, '/messages/text', { to: PERSON, text: 'Still here' });
      await cloud.reaches(instance, id, 'delivered');
    });
});
