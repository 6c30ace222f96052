import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { FAULT_KINDS } from '@posthorn/network/sandbox/faults/fault.ts';
import { readText } from '../docs/rules.ts';
import { projectRoot } from '../support/process.ts';
import { pairInstance, startSandbox } from './sandbox-harness.ts';

const OURS = '5511988880001';
const THEIRS = '5511977770001';

test('the network reports that it is healthy', async (t) => {
  const sandbox = await startSandbox(t);
  assert.deepEqual(await sandbox.get('/health'), { status: 'ok', service: 'sandbox' });
});

test('an idle connection is kept for longer than a client keeps it', async (t) => {
  const sandbox = await startSandbox(t);
  const response = await fetch(`${sandbox.controlUrl}/health`);
  await response.text();
  assert.ok(Number(/timeout=(\d+)/.exec(response.headers.get('keep-alive') ?? '')?.[1]) >= 60);
});

test('making a phone returns its settings, and a change keeps the others', async (t) => {
  const sandbox = await startSandbox(t);
  const made = await sandbox.call('POST', '/phones', {
    phone: '+55 (11) 97777-0001',
    name: 'Rui',
    online: false,
  });
  assert.equal(made.status, 201);
  assert.equal(made.body.phone, THEIRS);
  assert.equal(made.body.online, false);
  assert.equal(made.body.auto_read, true);
  const changed = await sandbox.call('POST', '/phones', {
    phone: THEIRS,
    auto_reply: 'hi',
    auto_read: undefined,
  });
  assert.equal(changed.status, 200);
  assert.deepEqual({ ...changed.body, auto_reply: null }, made.body);
  assert.equal(changed.body.auto_reply, 'hi');
  assert.equal((await sandbox.post('/phones', { phone: THEIRS, auto_reply: null })).auto_reply, null);
});

test('defaults apply to phones without settings of their own', async (t) => {
  const sandbox = await startSandbox(t);
  await sandbox.post('/phones', { phone: THEIRS, auto_read: true });
  await sandbox.post('/phones', { phone: OURS });
  assert.equal((await sandbox.post('/defaults', { auto_read: false, read_delay_ms: 5 })).auto_read, false);
  assert.equal((await sandbox.get(`/phones/${THEIRS}`)).auto_read, true);
  assert.equal((await sandbox.get(`/phones/${OURS}`)).auto_read, false);
  assert.equal((await sandbox.get(`/phones/${OURS}`)).read_delay_ms, 5);
});

const badRequests: [string, string, unknown, number, string, RegExp][] = [
  ['POST', '/phones', '{"phone":', 400, 'INVALID_JSON', /JSON/],
  ['POST', '/phones', {}, 400, 'BAD_REQUEST', /^phone: /],
  ['POST', '/phones', [], 400, 'BAD_REQUEST', /object/],
  ['POST', '/phones', { phone: '12' }, 400, 'BAD_REQUEST', /^phone: /],
  ['POST', '/phones', { phone: '123@g.us' }, 400, 'BAD_REQUEST', /^phone: /],
  ['POST', '/phones', { phone: THEIRS, online: 'yes' }, 400, 'BAD_REQUEST', /^online: /],
  ['POST', '/phones', { phone: THEIRS, read_delay_ms: -1 }, 400, 'BAD_REQUEST', /^read_delay_ms: /],
  ['POST', '/defaults', { auto_read: 1 }, 400, 'BAD_REQUEST', /^auto_read: /],
  ['GET', `/phones/${THEIRS}`, undefined, 404, 'PHONE_NOT_FOUND', /./],
  ['GET', `/phones/${THEIRS}/messages`, undefined, 404, 'PHONE_NOT_FOUND', /./],
  ['GET', '/phones/nobody/messages', undefined, 400, 'BAD_REQUEST', /phone number/],
  ['GET', '/phones/%E0%A4%A/messages', undefined, 400, 'BAD_REQUEST', /URL encoding/],
  ['POST', `/phones/${THEIRS}/read`, {}, 404, 'PHONE_NOT_FOUND', /./],
  ['POST', `/phones/${THEIRS}/messages`, { to: OURS }, 400, 'BAD_REQUEST', /^text: /],
  ['POST', `/phones/${THEIRS}/messages`, { to: OURS, text: 5 }, 400, 'BAD_REQUEST', /^text: /],
  ['POST', `/phones/${THEIRS}/messages`, { text: 'x' }, 400, 'BAD_REQUEST', /^to: /],
  ['POST', `/phones/${THEIRS}/messages`, { to: 'x', text: 'x' }, 400, 'BAD_REQUEST', /phone number/],
  [
    'POST',
    `/phones/${THEIRS}/messages`,
    { to: OURS, type: 'fax', text: 'x' },
    400,
    'BAD_REQUEST',
    /^type: .*text/,
  ],
  ['POST', '/pair', { phone: THEIRS }, 400, 'BAD_REQUEST', /qr or code/],
  ['POST', '/pair', { qr: 'nonsense', phone: THEIRS }, 404, 'PAIRING_NOT_FOUND', /./],
  ['POST', '/pair', { code: 'ABCDEFGH', phone: THEIRS }, 404, 'PAIRING_NOT_FOUND', /./],
  ['POST', '/faults', { kind: 'earthquake' }, 400, 'BAD_REQUEST', /^kind: /],
  ['POST', '/faults', { kind: 'delay' }, 400, 'BAD_REQUEST', /^delay_ms: /],
  ['POST', '/faults', { kind: 'refuse', probability: 2 }, 400, 'BAD_REQUEST', /^probability: /],
  ['DELETE', '/faults?kind=earthquake', undefined, 400, 'BAD_REQUEST', /^kind: /],
  ['GET', '/ledger?limit=0', undefined, 400, 'BAD_REQUEST', /^limit: /],
  ['GET', '/ledger?phone=abc', undefined, 400, 'BAD_REQUEST', /^phone: /],
  ['GET', '/nowhere', undefined, 404, 'NOT_FOUND', /./],
  ['DELETE', '/ledger', undefined, 405, 'METHOD_NOT_ALLOWED', /DELETE/],
];

test('bad input is refused with the reason', async (t) => {
  const sandbox = await startSandbox(t);
  for (const [method, path, body, status, code, message] of badRequests) {
    const answer = await sandbox.call(method, path, body);
    const label = `${method} ${path} ${JSON.stringify(body)} -> ${JSON.stringify(answer)}`;
    assert.equal(answer.status, status, label);
    assert.deepEqual(Object.keys(answer.body), ['error_code', 'message'], label);
    assert.equal(answer.body.error_code, code, label);
    assert.match(answer.body.message, message, label);
  }
  assert.deepEqual((await sandbox.get('/faults')).faults, []);
});

test('unknown fields are ignored', async (t) => {
  const sandbox = await startSandbox(t);
  await sandbox.post('/phones', { phone: THEIRS, favourite_colour: 'green' });
  await sandbox.post(`/phones/${THEIRS}/messages`, { to: OURS, text: 'hi', urgency: 9 });
  assert.deepEqual((await sandbox.get(`/phones/${OURS}/messages`)).messages[0].content, { text: 'hi' });
});

test('the messages of a phone can be listed by chat, and a limit returns the newest', async (t) => {
  const sandbox = await startSandbox(t);
  for (const from of ['5511966660001', '5511966660002']) {
    for (const text of ['one', 'two']) await sandbox.post(`/phones/${from}/messages`, { to: THEIRS, text });
  }
  await sandbox.post(`/phones/${THEIRS}/messages`, { to: '5511966660001', text: 'answer' });
  const texts = async (query: string) =>
    (await sandbox.get(`/phones/${THEIRS}/messages${query}`)).messages.map(
      (message: { text: string }) => message.text,
    );
  assert.deepEqual(await texts(''), ['one', 'two', 'one', 'two', 'answer']);
  assert.deepEqual(await texts('?chat=5511966660001'), ['one', 'two', 'answer']);
  assert.deepEqual(await texts('?chat=5511966660002@s.whatsapp.net'), ['one', 'two']);
  assert.deepEqual(await texts('?limit=2'), ['two', 'answer']);
});

test('the same id from a phone twice is one message', async (t) => {
  const sandbox = await startSandbox(t);
  const body = { to: OURS, text: 'once', id: 'MINE1' };
  const first = await sandbox.post(`/phones/${THEIRS}/messages`, body);
  assert.deepEqual(await sandbox.post(`/phones/${THEIRS}/messages`, body), { ...first });
  assert.equal((await sandbox.get(`/phones/${OURS}/messages`)).total, 1);
});

test('the ledger pages without gap or repetition and counts by sender', async (t) => {
  const sandbox = await startSandbox(t);
  const one = await pairInstance(t, sandbox, OURS);
  const two = await pairInstance(t, sandbox, '5511988880002');
  const ids: string[] = [];
  for (let i = 0; i < 25; i++) ids.push(await (i % 5 === 0 ? two : one).sendText(THEIRS, `${i}`));
  await one.sendText('5511977770002', 'elsewhere');

  const seen: string[] = [];
  let after: number | null = 0;
  while (after !== null) {
    const page: { entries: { network_id: string }[]; total: number; next_after: number | null } =
      await sandbox.get(`/ledger?phone=${THEIRS}&limit=7&after=${after}`);
    assert.equal(page.total, 25);
    seen.push(...page.entries.map((entry) => entry.network_id));
    after = page.next_after;
  }
  assert.deepEqual(seen, ids);

  assert.equal((await sandbox.get('/ledger?from=5511988880002')).total, 5);
  assert.equal((await sandbox.get(`/ledger?from=${OURS}&to=${THEIRS}`)).total, 20);
  assert.equal((await sandbox.get(`/ledger?phone=${OURS}`)).total, 21);
  const summary = await sandbox.get('/ledger/summary');
  assert.equal(summary.total, 26);
  assert.deepEqual(summary.senders, {
    [`${OURS}@s.whatsapp.net`]: { received: 21, duplicates: 0, refused: 0 },
    '5511988880002@s.whatsapp.net': { received: 5, duplicates: 0, refused: 0 },
  });
  assert.equal((await sandbox.get(`/ledger/summary?from=${OURS}`)).total, 21);
});

test('network/README.md has every call and every fault', () => {
  const readme = readText('network/README.md');
  const sources = globSync('network/sandbox/control/*.ts', { cwd: projectRoot }).map(readText).join('\n');
  const calls = [...sources.matchAll(/method: '([A-Z]+)',\s+path: '([^']+)'/g)];
  assert.ok(calls.length > 40);
  for (const [, method = '', path = ''] of calls) {
    const last = path.replaceAll(/:(\w+)/g, '{$1}').replace(/^.*(?=\/(?!\{))/, '');
    assert.match(
      readme,
      new RegExp(`${method} [^|]*${last.replaceAll(/[{}]/g, '\\$&')}(?!\\w)`),
      `${method} ${path}`,
    );
  }
  for (const kind of FAULT_KINDS) assert.match(readme, new RegExp(`[|,] *\`${kind}\\b`), kind);
});
