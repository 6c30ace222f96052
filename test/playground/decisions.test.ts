import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { type BudgetAnswer, judgeBudget, type Spent } from '@posthorn/core/playground/budget.ts';
import { choosePhone, phoneOfUser } from '@posthorn/core/playground/phones.ts';
import { requestExamples } from '@posthorn/core/playground/request-examples.ts';

test('the budgets of the day and the minute are reported and enforced', () => {
  const nowMs = Date.UTC(2026, 0, 31, 23, 0, 0);
  const refuse = (code: 'PLAYGROUND_BUDGET_EXCEEDED' | 'PLAYGROUND_RATE_LIMITED', retryAfterS: number) =>
    ({ to: 'refuse', code, retryAfterS }) as const;
  const table: [spent: Spent, expected: BudgetAnswer][] = [
    [{ today: 0, lastMinute: 0, oldestMs: null }, { to: 'send' }],
    [{ today: 49, lastMinute: 9, oldestMs: nowMs - 30_000 }, { to: 'send' }],
    [{ today: 49, lastMinute: 10, oldestMs: nowMs - 30_000 }, refuse('PLAYGROUND_RATE_LIMITED', 30)],
    [{ today: 10, lastMinute: 10, oldestMs: nowMs - 59_999 }, refuse('PLAYGROUND_RATE_LIMITED', 1)],
    // The exhausted day is reported first: waiting a minute would not help.
    [{ today: 50, lastMinute: 10, oldestMs: nowMs }, refuse('PLAYGROUND_BUDGET_EXCEEDED', 3_600)],
    [{ today: 51, lastMinute: 0, oldestMs: null }, refuse('PLAYGROUND_BUDGET_EXCEEDED', 3_600)],
    // Just after midnight the limit of the minute still counts messages of the day before.
    [{ today: 0, lastMinute: 10, oldestMs: nowMs - 1_000 }, refuse('PLAYGROUND_RATE_LIMITED', 59)],
  ];
  for (const [spent, expected] of table) assert.deepEqual(judgeBudget(spent, nowMs), expected);
});

test('a user has ten phones, which are nobody else’s', () => {
  assert.equal(choosePhone(7, undefined), phoneOfUser(7));
  assert.equal(choosePhone(7, phoneOfUser(7, 9)), phoneOfUser(7, 9));
  assert.equal(choosePhone(7, `+${phoneOfUser(7, 3)}`), phoneOfUser(7, 3));
  assert.equal(choosePhone(7, `${phoneOfUser(7, 3)}@s.whatsapp.net`), phoneOfUser(7, 3));
  for (const to of [phoneOfUser(8), phoneOfUser(71), '5511999990000', '123@g.us', 'nobody'])
    assert.equal(choosePhone(7, to), null, to);
  const phones = [1, 10, 7, 70, 700, 2_147_483_647].flatMap((userId) =>
    Array.from({ length: 10 }, (_, nth) => phoneOfUser(userId, nth)),
  );
  assert.equal(new Set(phones).size, phones.length);
  for (const phone of phones) assert.match(phone, /^\d{7,15}$/);
});

test('the examples can be pasted into a shell and a program', () => {
  const hostile = `it's "quoted" $HOME \`id\`\n; rm -rf /`;
  const { curl, sdk, cli } = requestExamples('https://api.example.com', 'text', { text: hostile, to: '999' });
  const args = run(curl.replace('$(uuidgen)', 'key').replace(/^curl/, 'printf "%s\\0"'));
  assert.deepEqual(args.slice(0, 3), [
    '-X',
    'POST',
    'https://api.example.com/v1/instances/my-instance/messages/text',
  ]);
  assert.deepEqual(JSON.parse(args.at(-1)!), { text: hostile, to: '999' });
  assert.deepEqual(run(cli.replace(/^msgctl/, 'printf "%s\\0"')), [
    'send',
    'text',
    '--to',
    '999',
    '--text',
    hostile,
  ]);
  assert.match(sdk, /^await client\.messages\.sendText\(\{ instanceId, body: \{/);
});

test('values that are no texts are written as JSON, and long ones are cut', () => {
  const body = { to: '999', question: 'When?', options: ['now', 'later'], max_selections: 1 };
  const { cli } = requestExamples('https://api.example.com', 'poll', body);
  assert.equal(
    cli,
    `msgctl send poll --to 999 'question=When?' 'options:=["now","later"]' max_selections:=1`,
  );
  const year = requestExamples('https://api.example.com', 'poll', { ...body, question: '2026' });
  assert.match(year.cli, / 'question:="2026"' /);
  const image = requestExamples('https://api.example.com', 'image', {
    to: '999',
    media_base64: 'A'.repeat(9_000),
  });
  assert.ok(image.curl.length < 1_000);
});

/** The words into which a shell splits a line. */
function run(line: string): string[] {
  const env = { HOME: '/home/of-nobody', INSTANCE_ID: 'my-instance', POSTHORN_API_KEY: 'svc_x' };
  return execFileSync('/bin/sh', ['-c', line], { env, encoding: 'utf8' }).split('\0').slice(0, -1);
}
