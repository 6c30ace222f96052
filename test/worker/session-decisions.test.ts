import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionRow } from '@posthorn/core/instances/load-sessions.ts';
import { DEFAULT_SETTINGS } from '@posthorn/core/instances/settings.ts';
import type { DisconnectReason } from '@posthorn/network/driver.ts';
import {
  afterEnd,
  asksForMore,
  backOffMs,
  planForgetting,
  planSettling,
  withJitter,
} from '@posthorn/worker/sessions/session-decisions.ts';

const ROW: SessionRow = {
  id: 'i',
  companyId: 1,
  driver: 'sandbox',
  proxy: null,
  lastError: null,
  shard: 0,
  state: 'CONNECTED',
  desired: 'connected',
  hold: null,
  generation: 3,
  settings: DEFAULT_SETTINGS,
  credentials: Buffer.from('sealed'),
  codePhone: null,
};

test('how an instance gets to where its row wants it', () => {
  const table: [row: Partial<SessionRow>, generation: number | null, isRetrying: boolean, plan: object][] = [
    [{}, null, false, { to: 'connected', closes: false, opens: true }],
    [{}, null, true, { to: 'connected', closes: false, opens: false }],
    [{}, 3, false, { to: 'connected', closes: false, opens: false }],
    [{}, 2, false, { to: 'connected', closes: true, opens: true }],
    [{}, 2, true, { to: 'connected', closes: true, opens: false }],
    [{ desired: 'logged_out' }, 3, false, { to: 'logged_out' }],
    [
      { desired: 'disconnected' },
      3,
      false,
      { to: 'disconnected', transition: { to: 'DISCONNECTED', reason: 'requested', fields: {} } },
    ],
    [
      { desired: 'disconnected', state: 'PAIRING', hold: 'company_suspended' },
      3,
      false,
      { to: 'disconnected', transition: { to: 'DISCONNECTED', reason: 'company_suspended', fields: {} } },
    ],
    [{ desired: 'disconnected', state: 'HARD_PAUSED' }, null, true, { to: 'disconnected', transition: null }],
    [
      { desired: 'disconnected', state: 'DISCONNECTED' },
      null,
      false,
      { to: 'disconnected', transition: null },
    ],
  ];
  for (const [row, generation, isRetrying, plan] of table)
    assert.deepEqual(planSettling({ ...ROW, ...row }, { generation, isRetrying }), plan, JSON.stringify(row));
});

test('what follows when a session has ended', () => {
  const table: [reason: DisconnectReason, state: SessionRow['state'], expected: object][] = [
    ['closed', 'CONNECTED', { grace: 'goes_on' }],
    ['connection_lost', 'CONNECTED', { grace: 'starts', retry: 'back_off' }],
    ['connection_lost', 'PAIRING', { grace: 'goes_on', retry: 'back_off' }],
    ['logged_out', 'CONNECTED', { grace: 'ends', forgetsPairing: true }],
    [
      'banned',
      'CONNECTED',
      { grace: 'ends', transition: { to: 'BANNED', reason: 'banned', fields: { restriction: 'banned' } } },
    ],
    [
      'hard_paused',
      'CONNECTED',
      {
        grace: 'ends',
        transition: { to: 'HARD_PAUSED', reason: 'hard_paused', fields: { restriction: 'hard_paused' } },
        retry: 60_000,
      },
    ],
    [
      'version_refused',
      'CONNECTED',
      {
        grace: 'ends',
        transition: {
          to: 'DISCONNECTED',
          reason: 'version_refused',
          fields: { last_error: 'the network no longer takes this version of the driver' },
        },
        retry: 3_600_000,
      },
    ],
    [
      'replaced',
      'CONNECTED',
      {
        grace: 'ends',
        transition: {
          to: 'DISCONNECTED',
          reason: 'replaced',
          fields: { last_error: 'another session of this account was opened' },
        },
      },
    ],
  ];
  for (const [reason, state, expected] of table) assert.deepEqual(afterEnd(reason, state), expected, reason);
});

test('the end of a pairing is told as long as something of it is left', () => {
  const told = {
    to: 'DISCONNECTED',
    reason: 'logged_out',
    fields: { credentials: null, phone: null, jid: null, push_name: null, wanted: 'logged_out' },
  };
  const credentials = Buffer.from('sealed');
  assert.deepEqual(planForgetting({ state: 'CONNECTED', credentials }), told);
  assert.deepEqual(planForgetting({ state: 'DISCONNECTED', credentials }), told);
  assert.deepEqual(planForgetting({ state: 'PAIRING', credentials: null }), told);
  assert.equal(planForgetting({ state: 'DISCONNECTED', credentials: null }), null);
});

test('tries come less and less often, up to every 30 s', () => {
  const waits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 100].map(backOffMs);
  assert.deepEqual(waits, [0, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 30_000, 30_000]);
});

test('tries that failed together come a quarter earlier or later', () => {
  assert.deepEqual(
    [0, 0.5, 0.999].map((random) => Math.round(withJitter(10_000, random))),
    [7_500, 10_000, 12_495],
  );
  assert.equal(withJitter(0, 0.9), 0);
});

test('a row asks for more by what users ask for, not by what workers write', () => {
  const asks = (other: Partial<SessionRow>) => asksForMore(ROW, { ...ROW, ...other });
  assert.equal(asks({}), false);
  assert.equal(asks({ state: 'DISCONNECTED', credentials: null }), false);
  assert.equal(asks({ settings: { ...DEFAULT_SETTINGS } }), false);
  assert.equal(asks({ desired: 'disconnected' }), true);
  assert.equal(asks({ generation: 4 }), true);
  assert.equal(asks({ codePhone: '5511999990000' }), true);
  assert.equal(asks({ settings: { ...DEFAULT_SETTINGS, auto_read: !DEFAULT_SETTINGS.auto_read } }), true);
});
