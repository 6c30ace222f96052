import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { requestCode } from '../../console/api/request-code.ts';
import { type HttpServer, json, startHttp } from '../sdk/http-server.ts';
import { createCli } from './run-cli.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';
const ACCEPTED = { status: 'queued', message_id: INSTANCE, task_id: '1', idempotency_key: 'k' };
/** Ends quotes, calls programs and fills more than a line. */
const HOSTILE = `@it's "quoted" <$HOME> \`id\`;type=text/html\n; rm -rf / ção 🥖`;
const TO = '5511987650002';

let server: HttpServer;
let folder: string;
before(async () => {
  server = await startHttp((res) => json(res, 202, ACCEPTED));
  folder = mkdtempSync(path.join(tmpdir(), 'posthorn-code-'));
});
after(async () => {
  rmSync(folder, { recursive: true });
  await server.close();
});

function codeOf(at: string, body: Record<string, unknown>, more: { file?: File; sendAt?: string } = {}) {
  const kind = { path: at, method: 'messages.sendText' };
  const { file = null, sendAt = '' } = more;
  return requestCode({ baseUrl: server.url, instanceId: INSTANCE, kind, body, file, sendAt });
}

/** The words into which a shell splits a command, without its name. */
function wordsOf(command: string): string[] {
  const line = command.replace(/^\w+/, 'printf "%s\\0"').replace('$(uuidgen)', 'key');
  return execFileSync('/bin/sh', ['-c', line], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

/** Runs the code for msgctl, and returns the last request that it makes. */
async function runMsgctl(command: string) {
  const cli = createCli({ POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x' }, { cwd: folder });
  try {
    const { code, stderr } = await cli.run(wordsOf(command));
    assert.equal(code, 0, stderr);
    return server.seen.at(-1);
  } finally {
    cli.remove();
  }
}

describe('the code that the console shows for a send', () => {
  test('can be run with curl, whatever is in a text or the name of a file', async () => {
    const name = 'list, of "May"; new.png';
    writeFileSync(path.join(folder, name), 'bytes');
    const { curl } = codeOf('image', { to: TO, caption: HOSTILE }, { file: new File([], name) });
    await promisify(execFile)('curl', ['--silent', ...wordsOf(curl)], { cwd: folder });
    const { headers, body, url } = server.seen.at(-1)!;
    assert.equal(url, `/v1/instances/${INSTANCE}/messages/image`);
    const type = String(headers['content-type']);
    const form = await new Response(body, { headers: { 'content-type': type } }).formData();
    assert.equal(form.get('caption'), HOSTILE);
    assert.equal((form.get('file') as File).name, name);
    assert.equal(await (form.get('file') as File).text(), 'bytes');
  });

  test('has the whole of a long text', () => {
    const text = 'a'.repeat(70_000);
    for (const code of Object.values(codeOf('text', { to: TO, text }))) assert.ok(code.includes(text));
  });

  test('can be run with msgctl, which takes the fields of a text by flags', async () => {
    const mentions = ['5511987650003@s.whatsapp.net', '5511987650004@s.whatsapp.net'];
    const body = { to: TO, text: HOSTILE, quoted_id: INSTANCE, mentions };
    const seen = await runMsgctl(codeOf('text', body).msgctl);
    assert.deepEqual(JSON.parse(seen?.body ?? ''), body);
  });

  test('can be run with msgctl where a text looks like a number or a word of JSON', async () => {
    for (const question of ['2026', 'true', HOSTILE]) {
      const body = { to: TO, question, options: ['1', '2'] };
      const seen = await runMsgctl(codeOf('poll', body).msgctl);
      assert.deepEqual(JSON.parse(seen?.body ?? ''), body);
    }
  });

  test('schedules what is scheduled', async () => {
    const sendAt = '2027-01-31T12:00:00.000Z';
    const body = { type: 'text', send_at: sendAt, body: { to: TO, text: 'Later' } };
    const { curl, sdk, msgctl } = codeOf('text', body.body, { sendAt });
    const words = wordsOf(curl);
    assert.equal(words[0], `${server.url}/v1/instances/${INSTANCE}/messages/scheduled`);
    assert.deepEqual(JSON.parse(words.at(-1)!), body);
    assert.match(sdk, /^await client\.scheduled\.create\(\{/);
    const seen = await runMsgctl(msgctl);
    assert.equal(seen?.url, `/v1/instances/${INSTANCE}/messages/scheduled`);
    assert.deepEqual(JSON.parse(seen?.body ?? ''), body);
    const stored = codeOf('image', { to: TO }, { sendAt, file: new File([], 'bread.png') });
    for (const code of Object.values(stored)) assert.match(code, /"media_id": ?"<media_id>"/);
  });
});
