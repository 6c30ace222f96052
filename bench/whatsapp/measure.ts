import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../statistics.ts';
import type { Child } from './child.ts';
import type { Costs, Side } from './side.ts';

/** A side with the network and the contacts; each account writes to its own contact. */
export interface Setting {
  side: Side;
  network: Child;
  /** As many as accounts. */
  contacts: readonly string[];
}

/** The costs are those of one text. */
export interface Measured extends Costs {
  perSecond: number;
}

/** One round of one side. */
export interface Round {
  /** Sends of one account, 16 at a time, until its contact has decrypted all. */
  one: Measured;
  /** The same for all accounts. */
  all: Measured;
  /** Texts received by one account, until the side has reported them. */
  received: Measured;
  /** Sends, one at a time, each decrypted before the next is begun. */
  single: Measured & { p50Ms: number };
}

const AT_ONCE = 16;
/** Wait for writes that follow the report of the last text, so that they are counted with it. */
const SETTLE_MS = 300;
let written = 0;

export async function playRound(
  setting: Setting,
  options: { texts: number; singles: number },
): Promise<Round> {
  return {
    one: await send(setting, 1, options.texts),
    all: await send(setting, setting.contacts.length, options.texts),
    received: await receive(setting, options.texts),
    single: await sendSingles(setting, options.singles),
  };
}

async function send(
  { side, network, contacts }: Setting,
  accounts: number,
  count: number,
): Promise<Measured> {
  const texts = newTexts(count).map((text, nth) => {
    const account = nth % accounts;
    return { account, to: contacts[account]!, text };
  });
  return measure(side, count, async () => {
    const begunAtMs = await side.send(texts, AT_ONCE);
    const opened = await network.ask<Record<string, number>>('opened', { count });
    return Math.max(...texts.map(({ text }) => opened[text] ?? Number.NaN)) - begunAtMs;
  });
}

async function receive({ side, network, contacts }: Setting, count: number): Promise<Measured> {
  const texts = newTexts(count);
  const measured = await measure(side, count, async () => {
    const route = { from: contacts[0], to: side.numbers[0], texts };
    const begunAtMs = await network.ask<number>('write', route);
    return (await side.received(texts)) - begunAtMs;
  });
  await network.ask('acknowledged');
  return measured;
}

async function sendSingles({ side, network, contacts }: Setting, count: number): Promise<Round['single']> {
  const times: number[] = [];
  const measured = await measure(side, count, async () => {
    for (const text of newTexts(count)) {
      const begunAtMs = await side.send([{ account: 0, to: contacts[0]!, text }], 1);
      const opened = await network.ask<Record<string, number>>('opened', { count: 1 });
      times.push(opened[text]! - begunAtMs);
    }
    return times.reduce((sum, timeMs) => sum + timeMs, 0);
  });
  return { ...measured, p50Ms: median(times) };
}

/** `work` answers how long it took. */
async function measure(side: Side, count: number, work: () => Promise<number>): Promise<Measured> {
  const before = await side.costs();
  const tookMs = await work();
  await delay(SETTLE_MS);
  const after = await side.costs();
  return {
    perSecond: (count * 1_000) / tookMs,
    cpuMs: (after.cpuMs - before.cpuMs) / count,
    postgresMs: (after.postgresMs - before.postgresMs) / count,
    commits: (after.commits - before.commits) / count,
  };
}

function newTexts(count: number): string[] {
  return Array.from({ length: count }, () => {
    written += 1;
    return `Your order ${written} has left our warehouse and arrives tomorrow between 9 and 12 o'clock.`;
  });
}
