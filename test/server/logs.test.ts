import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { listen } from '../support/listen.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';
import { startDispatcher, type TestDispatcher } from '../webhooks/support.ts';

const WORDS = 'the words that nobody but two people may read';
const PASSWORD = 'a password that is long enough';
const EMAIL = 'reader@acme.test';
const RECEIVER_TOKEN = 'Bearer of-the-receiver-alone';

describe('the log at its most verbose level', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'trace', role: 'test', to: { write: (line) => void lines.push(line) } });
  /** Refuses everything: deliveries fail and are tried again. */
  const receiver = createServer((_request, response) => response.writeHead(500).end(WORDS));
  const secrets: string[] = [WORDS, PASSWORD, EMAIL, RECEIVER_TOKEN];
  let failedTraceId: string | null;
  let registeredTraceId: string | null;
  let pipeline: Sending;
  let dispatcher: TestDispatcher;
  let instance: TestInstance;

  before(async () => {
    await listen(receiver);
    pipeline = await startSending({ log, env: { NODE_ENV: 'development', ALLOW_PRIVATE_WEBHOOKS: 'true' } });
    dispatcher = await startDispatcher(pipeline.api.parts);
    instance = await pipeline.connect();
  });
  after(async () => {
    await dispatcher.close();
    await pipeline.close();
    receiver.close();
  });

  test('contains neither bodies nor numbers, tokens nor keys, whatever fails', async () => {
    const { api, company } = pipeline;
    const jwt = await api.jwtOf(company);
    const phone = pipeline.newPhone();
    secrets.push(company.apiKey, jwt, instance.phone, phone);

    const registered = await api.call('POST', '/v1/auth/register', {
      body: { company_name: 'Acme', owner_name: 'Olga', owner_email: EMAIL, password: PASSWORD },
    });
    assert.equal(registered.status, 201, registered.text);
    registeredTraceId = registered.headers.get('x-trace-id');
    for (const password of [PASSWORD, `${PASSWORD}, and wrong`])
      await api.call('POST', '/v1/auth/login', { body: { email: EMAIL, password } });
    await api.call('GET', '/v1/instances', { jwt: `${jwt.slice(0, -4)}AAAA` });

    const { port } = receiver.address() as AddressInfo;
    const hook = await api.call('POST', '/v1/webhooks', {
      key: company.apiKey,
      body: { url: `http://127.0.0.1:${port}/`, headers: { authorization: RECEIVER_TOKEN } },
    });
    assert.equal(hook.status, 201, hook.text);
    secrets.push(hook.body.secret);

    const { message_id } = await pipeline.send(instance, '/messages/text', { to: phone, text: WORDS });
    await pipeline.event(instance, 'message.read', (data) => data.message_ids[0] === message_id);
    await pipeline.sandbox.post('/faults', {
      kind: 'refuse',
      reason: 'not_allowed',
      account: instance.phone,
    });
    await pipeline.send(instance, '/messages/text', { to: phone, text: `${WORDS} again` });
    await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      type: 'text',
      text: WORDS,
    });
    const bad = { to: phone, text: WORDS, media_base64: 17, quoted_id: WORDS };
    assert.equal((await pipeline.call(instance, 'POST', '/messages/text', bad)).status, 400);
    const media = { to: phone, media_url: `http://127.0.0.1:${port}/${company.apiKey}`, caption: WORDS };
    const failed = await pipeline.call(instance, 'POST', '/messages/image', media);
    assert.equal(failed.status, 502, failed.text);
    failedTraceId = failed.headers.get('x-trace-id');

    await waitFor(async () => {
      const { rows } = await api.parts.db.query(
        'SELECT 1 FROM webhook_delivery_logs WHERE NOT success LIMIT 1',
      );
      return rows.length > 0;
    });
    assert.ok(lines.length > 0, 'nothing was logged: this proves nothing');
    for (const line of lines)
      for (const secret of secrets) assert.equal(line.includes(secret), false, `${secret} stands in ${line}`);
  });

  test('carries the trace id of the request, in its own lines and in those of the jobs that it caused', async () => {
    const about = (what: (entry: Record<string, unknown>) => boolean) =>
      lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(what);
    const [served] = about((entry) => entry.msg === 'request could not be served');
    assert.equal(served?.trace_id, failedTraceId);
    const { rows } = await pipeline.api.parts.db.query<{ trace_id: string }>(
      'SELECT trace_id FROM mails WHERE trace_id = $1',
      [registeredTraceId],
    );
    assert.ok(rows.length > 0, 'the mail does not carry the trace id of the request');
    const ofRequests = about((entry) => 'route' in entry || 'mail_id' in entry || 'scheduled_id' in entry);
    for (const entry of ofRequests)
      assert.match(String(entry.trace_id), /^[0-9a-f-]{36}$/, JSON.stringify(entry));
  });
});
