import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionRow } from '@posthorn/core/instances/load-sessions.ts';
import { DEFAULT_SETTINGS } from '@posthorn/core/instances/settings.ts';
import type { DisconnectReason } from '@posthorn/core/network/driver.ts';
import {
  afterEnd,
  asksForMore,
  backOffMs,
  type CurrentSession,
  isErrorTold,
  mayHaveRivalOwner,
  planForgetting,
  planSettling,
  startsAnew,
  withJitter,
} from '@posthorn/worker/sessions/session-decisions.ts';

const ROW: SessionRow = {
  id: 'i',
  companyId: 1,
  driver: 'sandbox',
  proxy: null,
  lastError: null,
  firstOwnSeq: null,
  restriction: null,
  shard: 0,
  placed: null,
  epochOffset: 0,
  state: 'CONNECTED',
  desired: 'connected',
  hold: null,
  generation: 3,
  settings: DEFAULT_SETTINGS,
  credentials: Buffer.from('sealed'),
  codePhone: null,
};

test('an instance moves step by step to the state that its row asks for', () => {
  const { generation } = ROW;
  const none: CurrentSession = { isOpen: false, triedGeneration: generation, isRetrying: false };
  const retrying: CurrentSession = { ...none, isRetrying: true };
  const open: CurrentSession = { ...none, isOpen: true };
  const requested = { to: 'DISCONNECTED', reason: 'requested', fields: {} };
  const suspended = { ...requested, reason: 'company_suspended' };
  const older = { triedGeneration: generation - 1 };
  const table: [row: Partial<SessionRow>, held: CurrentSession, plan: object][] = [
    [{}, none, { to: 'connected', closes: false, opens: true }],
    [{}, retrying, { to: 'connected', closes: false, opens: false }],
    [{}, open, { to: 'connected', closes: false, opens: false }],
    // A user has asked since the last try.
    [{}, { ...open, ...older }, { to: 'connected', closes: true, opens: true }],
    [{}, { ...none, ...older }, { to: 'connected', closes: false, opens: true }],
    [{}, { ...retrying, ...older }, { to: 'connected', closes: false, opens: true }],
    [{ desired: 'logged_out' }, open, { to: 'logged_out' }],
    [{ desired: 'disconnected' }, open, { to: 'disconnected', transition: requested }],
    [
      { desired: 'disconnected', state: 'PAIRING', hold: 'company_suspended' },
      open,
      { to: 'disconnected', transition: suspended },
    ],
    [
      { desired: 'disconnected', state: 'HARD_PAUSED' },
      retrying,
      { to: 'disconnected', transition: requested },
    ],
    [{ desired: 'disconnected', state: 'BANNED' }, none, { to: 'disconnected', transition: null }],
    [{ desired: 'disconnected', state: 'DISCONNECTED' }, none, { to: 'disconnected', transition: null }],
  ];
  for (const [row, held, plan] of table)
    assert.deepEqual(planSettling({ ...ROW, ...row }, held), plan, JSON.stringify([row, held]));
});

test('the end of a session leads to the next step for its reason', () => {
  const table: [reason: DisconnectReason, state: SessionRow['state'], expected: object][] = [
    ['closed', 'CONNECTED', { grace: 'goes_on' }],
    ['connection_lost', 'CONNECTED', { grace: 'starts', retry: 'back_off' }],
    ['failed', 'CONNECTED', { grace: 'starts', retry: 'back_off' }],
    ['failed', 'PAIRING', { grace: 'goes_on', retry: 'back_off' }],
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
          fields: {
            last_error: 'another session of this account was opened; connect again when that one has stopped',
            wanted: 'disconnected',
          },
        },
      },
    ],
  ];
  for (const [reason, state, expected] of table) assert.deepEqual(afterEnd(reason, state), expected, reason);
});

test('a login of another program right after a take-over is taken for the previous owner, once', () => {
  assert.deepEqual(afterEnd('replaced', 'CONNECTED', true), { grace: 'starts', retry: 'back_off' });
  const owner = { afterCrash: true, openings: 1, ownedMs: 9_999 };
  assert.equal(mayHaveRivalOwner(owner), true);
  for (const other of [{ afterCrash: false }, { openings: 2 }, { ownedMs: 10_000 }])
    assert.equal(mayHaveRivalOwner({ ...owner, ...other }), false, JSON.stringify(other));
});

test('tries begin anew with a connection, and after a session that failed on a message only if it lasted a minute', () => {
  const at = (ms: number) => new Date(1_000_000 + ms);
  const table: [reason: DisconnectReason, connectedAt: Date | null, now: Date, expected: boolean][] = [
    ['connection_lost', null, at(0), false],
    ['connection_lost', at(0), at(1), true],
    ['failed', null, at(0), false],
    ['failed', at(0), at(59_999), false],
    ['failed', at(0), at(60_000), true],
  ];
  for (const [reason, since, now, expected] of table)
    assert.equal(startsAnew(reason, since, now), expected, `${reason} ${since?.getTime()}`);
});

test('a cut of a connected session is not reported at once, a failed one is', () => {
  assert.equal(isErrorTold('connection_lost', 'CONNECTED'), false);
  assert.equal(isErrorTold('connection_lost', 'PAIRING'), true);
  assert.equal(isErrorTold('failed', 'CONNECTED'), true);
  assert.equal(isErrorTold('failed', 'DISCONNECTED'), true);
});

test('the end of a pairing is reported as long as something of it is left', () => {
  const told = {
    to: 'DISCONNECTED',
    reason: 'logged_out',
    fields: { credentials: null, phone: null, jid: null, push_name: null, wanted: 'logged_out' },
  };
  const credentials = Buffer.from('sealed');
  const byNetwork = { isAsked: false };
  assert.deepEqual(planForgetting({ state: 'CONNECTED', credentials }, byNetwork), told);
  assert.deepEqual(planForgetting({ state: 'DISCONNECTED', credentials }, byNetwork), told);
  assert.deepEqual(planForgetting({ state: 'PAIRING', credentials: null }, byNetwork), told);
  assert.equal(planForgetting({ state: 'DISCONNECTED', credentials: null }, byNetwork), null);
  // A request of a user that came after the logout request stays.
  const { wanted: _, ...fields } = told.fields;
  assert.deepEqual(planForgetting({ state: 'CONNECTED', credentials }, { isAsked: true }), {
    ...told,
    fields,
    forgets: credentials,
  });
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

test('a row needs work when users change it, not when workers write it', () => {
  const asks = (other: Partial<SessionRow>) => asksForMore(ROW, { ...ROW, ...other });
  assert.equal(asks({}), false);
  assert.equal(asks({ state: 'DISCONNECTED', credentials: null }), false);
  assert.equal(asks({ settings: { ...DEFAULT_SETTINGS } }), false);
  assert.equal(asks({ desired: 'disconnected' }), true);
  assert.equal(asks({ generation: 4 }), true);
  assert.equal(asks({ codePhone: '5511999990000' }), true);
  assert.equal(asks({ settings: { ...DEFAULT_SETTINGS, auto_read: !DEFAULT_SETTINGS.auto_read } }), true);
});
