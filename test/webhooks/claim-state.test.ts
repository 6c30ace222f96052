import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Quota } from '@posthorn/worker/webhooks/claim-deliveries.ts';
import {
  afterAnswer,
  afterClaim,
  afterCooldown,
  afterHolding,
  afterSharing,
  budgetOf,
  type ClaimState,
  NOTHING_CLAIMED,
  onClaim,
  sharesOf,
  wantsClaim,
} from '@posthorn/worker/webhooks/claim-state.ts';

function quota(webhookId: number, fresh: number, retries = 0): Quota {
  return { webhookId, fresh, retries, ahead: 0, fromId: 0, aheadFromId: 0 };
}

/** Webhook 70 is one of company 7, and so on. */
const companyOf = (webhookId: number) => Math.floor(webhookId / 10);
const state = (more: Partial<ClaimState>): ClaimState => ({ ...NOTHING_CLAIMED, ...more });

test('the budget of a claim', () => {
  const table: [name: string, state: Partial<ClaimState>, slow: number, expected: object | null][] = [
    ['nothing held: a whole claim', {}, 0, { all: 128, retries: 32 }],
    ['what is held counts', { held: 1_000 }, 0, { all: 24, retries: 32 }],
    ['so does what is asked for', { held: 900, asked: 100 }, 0, { all: 24, retries: 32 }],
    ['full', { held: 1_000, asked: 24 }, 0, null],
    ['what slow endpoints sit on does not count', { held: 1_024 }, 1_000, { all: 128, retries: 32 }],
    ['but bounds it in all', { held: 4_090 }, 4_000, { all: 6, retries: 32 }],
    ['all of it slow, and full', { held: 4_096 }, 4_096, null],
    ['retries cool down', { retriesFromMs: 5_001 }, 0, { all: 128, retries: 0 }],
    ['retries have cooled down', { retriesFromMs: 5_000 }, 0, { all: 128, retries: 32 }],
  ];
  for (const [name, more, slow, expected] of table)
    assert.deepEqual(budgetOf(state(more), slow, 5_000), expected, name);
});

test('it is starved when there was no budget or it went to the last, until all is shared out with nobody asking', () => {
  const held = state({ held: 40 });
  const starved = state({ held: 50, starvedAt: 40 });
  const asking = { ...starved, asking: new Set([7]) };
  const budget = { all: 10 };
  assert.equal(afterSharing(held, null, []).starvedAt, 40);
  assert.equal(afterSharing(held, budget, [quota(70, 6, 4)]).starvedAt, 40);
  assert.equal(afterSharing(held, budget, [quota(70, 6, 3)]).starvedAt, null);
  assert.equal(afterSharing(starved, budget, []).starvedAt, null);
  assert.equal(afterSharing(asking, budget, []).starvedAt, 40, 'others may have been left out');
});

test('a claim books its budget from its start to its end', () => {
  const quotas = [quota(70, 10), quota(71, 5, 2), quota(80, 1)];
  const shares = sharesOf(quotas, companyOf);
  assert.deepEqual(
    [...shares],
    [
      [7, 15],
      [8, 1],
    ],
  );
  const out = onClaim(state({ asked: 4, asking: new Set([9]) }), quotas, shares);
  assert.deepEqual([out.asked, [...out.asking]], [22, [9, 7, 8]]);
  assert.equal(out.retriesFromMs, Number.POSITIVE_INFINITY, 'one claim of retries at a time');
  const over = afterClaim(out, { quotas, shares, tookMs: 10, areShared: true });
  assert.deepEqual([over.state.asked, [...over.state.asking], over.cooling], [4, [9], []]);
});

test('a company that asked for its full share cools down while others are active', () => {
  const quotas = [quota(70, 32), quota(80, 31)];
  const shares = sharesOf(quotas, companyOf);
  const out = onClaim(NOTHING_CLAIMED, quotas, shares);
  const over = afterClaim(out, { quotas, shares, tookMs: 10, areShared: true });
  assert.deepEqual([over.cooling, over.cooldownMs, [...over.state.asking]], [[7], 20, [7]]);
  assert.deepEqual([...afterCooldown(over.state, 7).asking], []);
  const alone = afterClaim(out, { quotas, shares, tookMs: 10, areShared: false });
  assert.deepEqual([alone.cooling, [...alone.state.asking]], [[], []]);
});

test('retries cool down five times as long as their claim took, while first attempts are about', () => {
  const at = { startedAtMs: 1_000, nowMs: 1_010 };
  const first = { attempts: 0 };
  const retry = { attempts: 2 };
  const table: [
    name: string,
    quotas: Quota[],
    claimed: { attempts: number }[] | null,
    freshAtMs: number,
    retriesFromMs: number,
  ][] = [
    ['beside a first attempt', [quota(70, 1, 1)], [first, retry], Number.NEGATIVE_INFINITY, 1_060],
    ['shortly after one', [quota(70, 0, 1)], [retry], 11, 1_060],
    ['long after one', [quota(70, 0, 1)], [retry], 10, 1_010],
    ['none came', [quota(70, 1, 1)], [first], Number.NEGATIVE_INFINITY, 1_010],
    ['the database is away', [quota(70, 1, 1)], null, 1_000, 1_010],
    ['none were asked for', [quota(70, 1)], [first], Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  ];
  for (const [name, quotas, claimed, freshAtMs, retriesFromMs] of table) {
    const before = state({ freshAtMs, retriesFromMs: Number.POSITIVE_INFINITY });
    const after = afterAnswer(before, quotas, claimed, at);
    assert.equal(after.state.retriesFromMs, retriesFromMs, name);
    assert.equal(after.cooldownMs, retriesFromMs === 1_060 ? 50 : 0, name);
    assert.equal(after.state.freshAtMs, claimed?.includes(first) ? 1_010 : freshAtMs, name);
  }
});

test('the end of an attempt asks for a claim only when there is more to claim', () => {
  const table: [name: string, state: Partial<ClaimState>, desires: boolean, expected: boolean][] = [
    ['its endpoint has work and room', {}, true, true],
    ['it has not', {}, false, false],
    ['a claim for its company is under way', { asking: new Set([7]) }, true, false],
    ['starved, and little has ended since', { held: 437, starvedAt: 500 }, true, false],
    ['starved, and enough has ended', { held: 436, starvedAt: 500 }, false, true],
  ];
  for (const [name, more, desires, expected] of table)
    assert.equal(
      wantsClaim(state(more), 7, () => desires),
      expected,
      name,
    );
});

test('held deliveries are counted up and down', () => {
  assert.equal(afterHolding(afterHolding(NOTHING_CLAIMED, 5), -2).held, 3);
});
