import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { median, tellFigure } from '../support/figures.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { newEmail, register } from './support/people.ts';

const SAMPLES = 500;
const ACCOUNTS = 25;
const KINDS = ['known', 'unknown', 'social', 'locked'] as const;
type Kind = (typeof KINDS)[number];

describe('the time of a refused login', () => {
  let server: AccountServer;
  const emails: Record<Kind, string[]> = { known: [], unknown: [], social: [], locked: [] };
  before(async () => {
    server = await startAccountServer();
    for (const kind of KINDS)
      for (let i = 0; i < ACCOUNTS; i++) {
        const email = newEmail();
        emails[kind].push(email);
        if (kind !== 'unknown') await register(server, email);
      }
    await server.db.query('UPDATE users SET password_hash = NULL WHERE email = ANY($1)', [emails.social]);
    for (const email of emails.locked) for (let i = 0; i < 5; i++) await login(email);
    await server.db.query(
      `UPDATE login_failures SET locked_until = '2100-01-01' WHERE locked_until IS NOT NULL`,
    );
  });
  after(() => server.close());

  async function login(email: string): Promise<{ status: number; ms: number }> {
    const startedAt = performance.now();
    const response = await fetch(`${server.baseUrl}/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password: 'a wrong password' }),
    });
    await response.arrayBuffer();
    return { status: response.status, ms: performance.now() - startedAt };
  }

  /** The kinds take turns in random order, so that other load on the machine affects them alike. */
  async function sample(): Promise<Record<Kind, number[]>> {
    const times: Record<Kind, number[]> = { known: [], unknown: [], social: [], locked: [] };
    for (let round = 0; round < SAMPLES; round++) {
      // An account fails once in 15 minutes, so that none but the locked ones is ever locked.
      if (round % ACCOUNTS === 0) server.clock.advance(15 * 60_000);
      for (const kind of shuffled(KINDS)) {
        const { status, ms } = await login(emails[kind][round % ACCOUNTS]!);
        assert.equal(status, kind === 'locked' ? 429 : 401);
        times[kind].push(ms);
      }
    }
    return times;
  }

  test(`tells no kind of account from another over ${SAMPLES} samples a kind (aim: AUC 0.45 to 0.55)`, async () => {
    await sample();
    // Chance alone leaves that band about once in 30 runs (a pair's deviation is 0.018): then it must not happen again.
    const first = compare(await sample());
    const telling = Object.entries(first).filter(([, value]) => Math.abs(value - 0.5) > 0.05);
    if (telling.length === 0) return;
    const second = compare(await sample());
    for (const [pair] of telling)
      tellFigure(`AUC ${pair}`, second[pair]!, { atLeast: 0.45, atMost: 0.55 }, '');
  });
});

function compare(times: Record<Kind, number[]>): Record<string, number> {
  const pairs: Record<string, number> = {};
  for (const [index, one] of KINDS.entries())
    for (const other of KINDS.slice(index + 1)) pairs[`${one}/${other}`] = auc(times[one], times[other]);
  const medians = KINDS.map((kind) => `${kind} ${median(times[kind]).toFixed(2)} ms`);
  console.log(medians.join(', '));
  console.log(
    Object.entries(pairs)
      .map(([pair, value]) => `${pair} ${value.toFixed(3)}`)
      .join(', '),
  );
  return pairs;
}

/** How often a sample of `one` is slower than one of `other`: 0.5 when the two cannot be told apart. */
function auc(one: number[], other: number[]): number {
  let slower = 0;
  for (const a of one) for (const b of other) slower += a > b ? 1 : a === b ? 0.5 : 0;
  return slower / (one.length * other.length);
}

function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
