/** Pages that show live events, at 200 events a second: for ten minutes with POSTHORN_FULL=1, else for one. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { buildEvent } from '@posthorn/core/events/build-event.ts';
import { insertEvents } from '@posthorn/core/events/insert-events.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import type { Page } from 'playwright-core';
import { median, tellFigure } from '../support/figures.ts';
import { makeCompany } from './support/company.ts';
import { fillCompany } from './support/fill-company.ts';
import { takeLongTasks, watchLongTasks } from './support/long-tasks.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const PER_SECOND = 200;
const ROUND_MS = 100;
const SAMPLES = 10;
const SAMPLE_MS = process.env.POSTHORN_FULL ? 60_000 : 6_000;
/** Allowed growth of the page's memory, after it has shown as many events as it keeps. */
const GROWTH_MAX = 1.25;
const ANSWERS_WITHIN_MS = 1_000;

const started = useConsole();

describe('live pages', () => {
  // long: two pages of one browser over the same minutes
  test(`stay usable at ${PER_SECOND} events a second, and their memory flat`, async (t) => {
    const { server, browser } = started;
    const { client, email, instanceId } = await makeCompany(server);
    const log = createLog({ level: 'warn', role: 'test' });
    const db = createDb({ url: server.databaseUrl, poolSize: 2, log, name: 'test', plans: 'indexed' });
    t.after(() => db.close());
    const { id: webhookId } = await client.webhooks.create({
      body: { url: 'https://hooks.example.test/', events: ['call.*'] },
    });
    await fillCompany(
      db,
      { instanceId, webhookId },
      { messages: 2_000, chats: 500, deliveries: 0, ofOneChat: 100 },
    );
    const { page: tail, context, faults } = await browser.visit();
    await tail.goto(`${server.url}/console/login`);
    await signIn(tail, email, PASSWORD);
    await tail.getByText('Messages of the last 24 hours').first().waitFor();
    const chats = await context.newPage();
    await tail.goto(`${server.url}/console/events`);
    await chats.goto(`${server.url}/console/chats?instance=${instanceId}`);
    await chats.getByText('Contact 1', { exact: true }).waitFor();
    const pages = { tail, chats };

    const stopping = new AbortController();
    const flow = makeHappen(db, instanceId, stopping.signal);
    const heaps: Record<keyof typeof pages, number[]> = { tail: [], chats: [] };
    const longest = { tail: 0, chats: 0 };
    const full = tail.getByRole('status').filter({ hasText: /500/ });
    await full.waitFor();
    for (const page of Object.values(pages)) await watchLongTasks(page);
    for (let sample = 1; sample <= SAMPLES; sample += 1) {
      await delay(SAMPLE_MS);
      const answers = { tail: await answerOfTail(tail), chats: await answerOfChats(chats, sample) };
      for (const name of ['tail', 'chats'] as const) {
        const { megabytes, nodes } = await heapOf(pages[name]);
        heaps[name].push(megabytes);
        const long = Math.max(0, ...(await takeLongTasks(pages[name])));
        longest[name] = Math.max(longest[name], long);
        console.log(
          `${name} after ${(sample * SAMPLE_MS) / 1_000} s: heap ${megabytes.toFixed(1)} MB, ${nodes} nodes, ` +
            `longest task ${Math.round(long)} ms, a click answered after ${Math.round(answers[name])} ms`,
        );
        tellFigure(`${name}: a click`, answers[name], { atMost: ANSWERS_WITHIN_MS });
      }
    }
    stopping.abort();
    const perSecond = await flow;
    tellFigure('events a second', perSecond, { atLeast: PER_SECOND * 0.95 }, 'a second');
    for (const name of ['tail', 'chats'] as const) {
      console.log(`${name}: the longest task ${Math.round(longest[name])} ms`);
      // One sample may include events that wait to be drawn.
      const [early, last] = [median(heaps[name].slice(0, 3)), median(heaps[name].slice(-3))];
      assert.ok(last < early * GROWTH_MAX, `${name} grew from ${early} to ${last} MB`);
    }
    assert.match(await full.innerText(), /500/);
    assert.deepEqual(faults, []);
  });
});

/** Writes events as the worker does, and returns the rate that it reached. */
async function makeHappen(db: Db, instanceId: string, signal: AbortSignal): Promise<number> {
  const { rows } = await db.query<{ company_id: number }>('SELECT company_id FROM instances WHERE id = $1', [
    instanceId,
  ]);
  const companyId = rows[0]?.company_id ?? 0;
  const since = performance.now();
  let written = 0;
  while (!signal.aborted) {
    // Catches up on rounds that came late.
    const due = Math.floor(((performance.now() - since) / 1_000) * PER_SECOND) - written;
    const events = Array.from({ length: due }, (_, nth) =>
      buildEvent(
        { companyId, instanceId },
        { type: 'message.delivered', data: dataOf(written + nth), now: new Date() },
      ),
    );
    await insertEvents(db, events);
    await db.query(`SELECT pg_notify('events', $1)`, [String(companyId)]);
    written += due;
    await delay(ROUND_MS);
  }
  return written / ((performance.now() - since) / 1_000);
}

function dataOf(nth: number): Record<string, unknown> {
  const chat = `5521${String(1 + (nth % 500)).padStart(9, '0')}@s.whatsapp.net`;
  return { message_ids: [newId()], chat, message_type: 'text', text: `Order ${nth} has arrived.` };
}

/** The time to pause and to resume. */
async function answerOfTail(page: Page): Promise<number> {
  await page.bringToFront();
  const since = performance.now();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Paused.').waitFor();
  const took = performance.now() - since;
  await page.getByRole('button', { name: 'Go on' }).click();
  return took;
}

/** The time to open another chat. */
async function answerOfChats(page: Page, nth: number): Promise<number> {
  await page.bringToFront();
  const since = performance.now();
  await page.getByText(`Contact ${nth}`, { exact: true }).first().click();
  await page.locator('[data-text]').first().waitFor();
  return performance.now() - since;
}

async function heapOf(page: Page): Promise<{ megabytes: number; nodes: number }> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  const { nodes } = await devtools.send('Memory.getDOMCounters');
  await devtools.detach();
  return { megabytes: usedSize / 1_000_000, nodes };
}
