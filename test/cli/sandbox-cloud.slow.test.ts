import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { OfficialNumber } from '@posthorn/network/sandbox/graph/model.ts';
import { createSandboxServer, type SandboxServer } from '@posthorn/network/sandbox/server.ts';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';

const PHONE = '5511988880001';
const ANA = '5531900000001';

describe('msgctl sandbox cloud', () => {
  let sandbox: SandboxServer;
  let cloud: CloudSending;
  let cli: Cli;
  let instance: CloudInstance;
  before(async () => {
    sandbox = await createSandboxServer({ autoPair: false });
    cloud = await startCloudSending({ graphUrl: `${sandbox.controlUrl}/graph` });
    cli = createCli({ POSTHORN_SANDBOX_URL: sandbox.controlUrl });
    const made = await drive('number', PHONE);
    const number = {
      ...{ id: made.phone_number_id, businessId: made.business_account_id },
      ...{ token: made.access_token, appSecret: made.app_secret },
    } as OfficialNumber;
    const id = await cloud.create();
    const given = await cloud.give(id, number);
    assert.equal(given.status, 200, given.text);
    await cloud.state(id, 'CONNECTED');
    instance = { id, number };
  });
  after(async () => {
    cli?.remove();
    await cloud?.close();
    await sandbox?.close();
  });

  const drive = (...args: string[]) => cli.json(['sandbox', 'cloud', ...args]);
  const arrives = (text: string) =>
    waitFor(async () =>
      (await cloud.events(instance.id, 'text.received')).find(({ data }) => data.content.text === text),
    );
  const send = (text: string) => cloud.send(instance, '/messages/text', { to: ANA, text });

  test('makes a number by whose credentials an instance connects, and shows where it posts', async () => {
    const shown = await drive('number', PHONE);
    assert.equal(shown.phone_number_id, instance.number.id, 'the same one when asked again');
    assert.match(String(shown.posts_to), new RegExp(`/v1/webhooks/whatsapp-cloud/${instance.id}$`));
  });

  test('lets somebody write, and shows the answers to them', async () => {
    await drive('write', PHONE, ANA, 'Hello there');
    assert.equal((await arrives('Hello there')).data.phone, ANA);
    const id = await send('Welcome');
    await cloud.reaches(instance, id, 'delivered');
    const { sent } = (await drive('sent')) as { sent: { body: Record<string, unknown> }[] };
    assert.deepEqual(sent.at(-1)?.body.text, { body: 'Welcome', preview_url: false });
  });

  test('lets statuses come late and twice, and holds them back', async () => {
    assert.deepEqual(await drive('webhooks', PHONE, 'held=true', 'doubled=true'), {
      ...{ doubled: true, shuffled: false, delay_ms: 0, waiting: 0 },
    });
    const id = await send('Held');
    await waitFor(async () => Number((await drive('webhooks', PHONE)).waiting) >= 4);
    assert.equal((await cloud.status(instance, id)).status, 'queued');
    await drive('webhooks', PHONE, 'held=false', 'doubled=false');
    await cloud.reaches(instance, id, 'delivered');
    assert.deepEqual(
      (await cloud.eventsOf(id)).map(({ type }) => type),
      ['message.sent', 'message.delivered'],
    );
  });

  test('lets a send fail with a code of Meta, and takes that back', async () => {
    await drive('fault', 'error', 'code:=131026', `person=${ANA}`);
    const id = await send('Refused');
    await cloud.reaches(instance, id, 'failed');
    assert.equal((await cloud.status(instance, id)).failed_reason, 'undeliverable');
    await drive('fault', 'fail', 'code:=131026', 'times:=5');
    assert.deepEqual(await drive('clear'), { cleared: 1 });
    await cloud.reaches(instance, await send('Taken'), 'delivered');
  });

  test('reviews a template', async () => {
    const body = {
      ...{ name: 'hello', language: 'en_US', category: 'UTILITY' },
      components: [{ type: 'BODY', text: 'Hello.' }],
    };
    assert.equal((await cloud.call(instance.id, 'POST', '/templates', body)).status, 201);
    assert.deepEqual(await drive('review', PHONE, 'hello', 'REJECTED', 'reason=INVALID_FORMAT'), {
      ...{ reviewed: 1, status: 'REJECTED' },
    });
    const told = await waitFor(
      async () => (await cloud.events(instance.id, 'message_template.status_changed'))[0],
    );
    assert.deepEqual([told.data.status, told.data.reason], ['REJECTED', 'INVALID_FORMAT']);
  });

  test('refuses unknown numbers, templates and states, and web pages', async () => {
    for (const [args, said] of [
      [['write', '5511900000000', ANA, 'x'], 'PHONE_NOT_FOUND'],
      [['review', PHONE, 'none', 'APPROVED'], 'NOT_FOUND'],
      [['review', PHONE, 'hello', 'GREAT'], 'BAD_REQUEST'],
      [['token', PHONE, 'sleep'], 'BAD_REQUEST'],
      [['fault', 'error'], 'BAD_REQUEST'],
    ] as const) {
      const { code, stderr } = await cli.run(['sandbox', 'cloud', ...args]);
      assert.notEqual(code, 0);
      assert.match(stderr, new RegExp(`^msgctl: ${said}: `), args.join(' '));
    }
    const page = await fetch(`${sandbox.controlUrl}/graph/v26.0/${instance.number.id}`, {
      headers: { origin: 'https://evil.test' },
    });
    assert.equal(page.status, 403);
  });

  test('lets the token die, and the instance reports it and connects when it is valid again', async () => {
    await drive('token', PHONE, 'die');
    await send('Too late');
    const { last_error } = await cloud.state(instance.id, 'DISCONNECTED');
    assert.match(last_error, /access token/);
    await drive('token', PHONE, 'live');
    assert.equal((await cloud.call(instance.id, 'POST', '/connect')).status, 202);
    await cloud.state(instance.id, 'CONNECTED');
  });
});
