import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, utimes } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { markCompanyDeleted } from '@posthorn/core/accounts/company/mark-company-deleted.ts';
import { readSse } from '../events/support.ts';
import { waitFor } from '../support/process.ts';
import type { SeededCompany } from '../support/seed.ts';
import { sized } from '../support/size.ts';
import type { System } from '../support/system.ts';
import { startReceiver } from '../webhooks/support.ts';
import { startAdmin } from './admin-process.ts';
import { findByColumn, findInFiles, findInTables, takeQueued } from './find-traces.ts';
import { proveInboundOnce, writeToInstances } from './inbound.ts';
import { doEverything, type MarkedCompany, markCompany } from './marked-load.ts';
import { proveExport } from './prove-export.ts';
import { addWebhook, receiveWebhooks } from './receive-webhooks.ts';
import { createSoakLoad } from './soak-load.ts';
import { type ConnectedInstance, connectInstances, proveExactlyOnce } from './traffic.ts';
import { useSystem } from './use-system.ts';

const BEFORE_MS = sized(4_000, 6_000, 30_000);
/**
 * Everything that a process has under way for a company ends within this time: a slow upload, an attempt at a slow
 * endpoint.
 */
const AFTER_MS = sized(10_000, 12_000, 60_000);
/** The answer time of an erased company's endpoint: its attempts outlast the erasure. */
const SLOW_ANSWER_MS = 5_000;
/**
 * Whether a worker is frozen too. Others then take its instances over before the erasure continues, which takes long.
 */
const FREEZES_WORKER = sized(false, true, true);
const SETTLE_MS = 180_000;
const DAY_MS = 86_400_000;

test('companies are exported, erased and purged under load: an export is whole and of nobody else, nothing of the erased is left in any table, file or queue, and others lose nothing', async (t) => {
  const system = await useSystem(t, {
    messaging: 2,
    workers: 2,
    billing: 1,
    env: { INTERNAL_SECRET: 'i'.repeat(40) },
  });
  const kept = [await startKept(t, system), await startKept(t, system)];
  const erased = await startMarked(t, system, '493017155');
  const purged = await startMarked(t, system, '493017156');
  await delay(BEFORE_MS);
  const before = await findInTables(system.db, wordsOf(erased.marked));
  for (const table of [
    'messages',
    'media',
    'events',
    'webhooks',
    'chat_notes',
    'webhook_delivery_logs',
    'scheduled_sends',
  ])
    assert.ok(
      Object.keys(before).some((name) => name.startsWith(`public.${table}`)),
      `${table} has something to erase: ${JSON.stringify(before)}`,
    );

  const exportKept = () => Promise.all(kept.map((each) => proveExport(system, each)));
  const [first] = await Promise.all([exportKept(), eraseInTwo(system, erased)]);
  const [second] = await Promise.all([exportKept(), purgeInTwo(system, purged)]);
  for (const each of kept) await each.end();
  await delay(AFTER_MS);

  const answers = await Promise.all([erased, purged].map((each) => each.end()));
  for (const each of kept) await each.prove();
  // Rows that a frozen process wrote later, or that a killed one left, are removed by the next rounds of the jobs,
  // which begin with a worker.
  await letDayPass(system);
  await system.workers[1]!.restart();
  const gone = [erased.marked, purged.marked];
  await waitFor(async () => isEmpty(await findTraces(system, gone)), 20_000).catch(() => undefined);
  assert.deepEqual(await findTraces(system, gone), NOTHING);
  for (const worker of system.workers) await worker.kill('SIGTERM');
  const queued = await takeQueued(system.env.AMQP_URL!);
  const words = gone.flatMap(wordsOf);
  assert.deepEqual(
    queued.filter((body) => words.some((word) => body.includes(word))),
    [],
  );
  const counts = answers.flatMap((each) => [...each]);
  const sum = (which: RegExp) =>
    counts.reduce((all, [what, count]) => all + (which.test(what) ? count : 0), 0);
  console.log(
    `exports of ${[...first, ...second].join(', ')} messages; the companies that went were answered 2xx ${sum(/ 2\d\d$/)} times and ` +
      `4xx ${sum(/ 4\d\d$/)} times, and were written to ${sum(/^phone/)} times`,
  );
});

/** A company that is not erased, with all of its traffic. */
async function startKept(t: TestContext, system: System) {
  const { company, instances } = await connectInstances(system, 4);
  const { delivered } = await receiveWebhooks(t, system, company.companyId, 'message.*');
  const stream = await readSse(`${system.urls[0]}/v1/events/stream`, { 'x-api-key': company.apiKey });
  t.after(() => stream.cut());
  const load = createSoakLoad(system, company);
  const ending = new AbortController();
  const { signal } = ending;
  const [first, second, picturer, scheduler] = instances as [
    ConnectedInstance,
    ConnectedInstance,
    ConnectedInstance,
    ConnectedInstance,
  ];
  const lastsMs = BEFORE_MS + AFTER_MS;
  const inbound = writeToInstances(system, [first, second], lastsMs / 250, lastsMs);
  const sending = Promise.all([
    load.texts(first, 5, signal),
    load.texts(second, 5, signal),
    load.pictures(picturer, 4, signal),
    load.scheduled(scheduler, 2, signal),
    storeAndDelete(system, company, picturer, signal),
  ]);
  sending.catch(() => undefined);
  return {
    company,
    accepted: load.accepted,
    async end() {
      ending.abort();
      await sending;
    },
    /** Proves each message once and in order by the network's ledger, and each event delivered and streamed. */
    async prove() {
      await proveExactlyOnce(system, instances, load.accepted, SETTLE_MS);
      await proveInboundOnce(system, await inbound.done, SETTLE_MS);
      const { rows } = await system.db.query<{ event_id: string }>(
        `SELECT event_id FROM events WHERE company_id = $1 AND type LIKE 'message.%'`,
        [company.companyId],
      );
      const events = rows.map(({ event_id }) => event_id);
      await waitFor(() => delivered.size >= events.length, SETTLE_MS, { what: 'each event is delivered' });
      assert.deepEqual([...delivered].toSorted(), events.toSorted());
      const streamed = stream.frames
        .filter(({ event }) => event.startsWith('message.'))
        .map(({ data }) => JSON.parse(data).event_id as string);
      assert.deepEqual(streamed.toSorted(), events.toSorted());
    },
  };
}

/** Stores and deletes media, also during the export. */
async function storeAndDelete(
  system: System,
  { apiKey }: SeededCompany,
  { id }: ConnectedInstance,
  signal: AbortSignal,
): Promise<void> {
  const media = `${system.urls[0]}/v1/instances/${id}/media`;
  const headers = { 'x-api-key': apiKey };
  while (!signal.aborted) {
    const body = new FormData();
    body.append('file', new Blob([randomBytes(4_000).toString('hex')], { type: 'text/plain' }), 'gone.txt');
    const answer = await fetch(media, { method: 'POST', headers, body });
    assert.equal(answer.status, 201);
    const { media_id } = (await answer.json()) as { media_id: string };
    const { status } = await fetch(`${media}/${media_id}`, { method: 'DELETE', headers });
    assert.equal(status, 204);
    await delay(50);
  }
}

/** A company that is to be erased, and that uses everything until it is stopped. */
async function startMarked(t: TestContext, system: System, phones: string) {
  const connected = await connectInstances(system, 3);
  const marked: MarkedCompany = { ...connected, mark: `mark${randomBytes(6).toString('hex')}`, phones };
  await markCompany(system, marked);
  const receiver = await startReceiver(
    (_request, response) => void setTimeout(() => response.end(marked.mark), SLOW_ANSWER_MS),
    { keep: false },
  );
  t.after(() => receiver.close());
  await addWebhook(system, marked.company.companyId, `${receiver.url}/${marked.mark}`, '*');
  const stream = await readSse(`${system.urls[0]}/v1/events/stream`, { 'x-api-key': marked.company.apiKey });
  t.after(() => stream.cut());
  const ending = new AbortController();
  t.after(() => ending.abort());
  const doing = doEverything(system, marked, ending.signal);
  doing.catch(() => undefined);
  return {
    marked,
    stream,
    end() {
      ending.abort();
      return doing;
    },
  };
}

type Marked = Awaited<ReturnType<typeof startMarked>>;

/** Erases a company with the command, which is killed half-way and run again. */
async function eraseInTwo(system: System, { marked, stream }: Marked): Promise<void> {
  const { companyId } = marked.company;
  const args = ['erase', String(companyId), '--yes'];
  const held = await holdHalfWay(system, companyId);
  assert.ok(stream.frames.length > 0);
  const first = startAdmin(system, args);
  try {
    await held.isReached();
    assert.deepEqual(await halfOf(system, companyId), { instances: 0, companies: 1 });
  } finally {
    await first.kill();
    await held.release();
  }
  await stream.closed;
  // A server is frozen in the middle of its requests, in larger runs a worker too, and continues when the company is
  // erased.
  const frozen = [system.messaging[1]!, ...(FREEZES_WORKER ? [system.workers[1]!] : [])];
  for (const each of frozen) each.signal('SIGSTOP');
  try {
    const { code, output } = await startAdmin(system, args).ended;
    assert.equal(code, 0, output);
    assert.match(output, /nothing of it is left$/m);
    const { rows, tables, files } = await findTraces(system, [marked]);
    // The frozen server still has uploads that are coming in, and the note of one that is being stored: these do not
    // count.
    const { 'public.media_trash': _, ...others } = tables;
    const stored = files.filter((file) => !file.startsWith('.spool/'));
    assert.deepEqual({ rows, tables: others, files: stored }, NOTHING);
  } finally {
    for (const each of frozen) each.signal('SIGCONT');
  }
}

/**
 * Has a worker purge a company whose 30 days are over; it is killed half-way, and the next worker that looks continues.
 */
async function purgeInTwo(system: System, { marked, stream }: Marked): Promise<void> {
  const { companyId } = marked.company;
  await markCompanyDeleted(system.db, { companyId, by: null, traceId: null, at: new Date() });
  await system.db.query('UPDATE companies SET deleted_at = $2 WHERE id = $1', [
    companyId,
    new Date(Date.now() - 31 * DAY_MS),
  ]);
  const held = await holdHalfWay(system, companyId);
  await stream.closed;
  // The interval of the job is over.
  await system.db.query(`UPDATE lone_jobs SET finished_at = NULL WHERE name = 'the purge'`);
  try {
    await held.isReached();
    assert.deepEqual(await halfOf(system, companyId), { instances: 0, companies: 1 });
  } finally {
    const { rows } = await system.db.query<{ pid: number }>(
      `SELECT split_part(worker, ' ', 2)::integer AS pid FROM lone_jobs WHERE name = 'the purge'`,
    );
    const worker = system.workers.find((each) => each.pid() === rows[0]?.pid);
    await worker?.kill('SIGKILL');
    await held.release();
    await worker?.restart();
  }
  await waitFor(
    async () => (await system.db.query('SELECT FROM companies WHERE id = $1', [companyId])).rowCount === 0,
    60_000,
    { what: 'the company is purged' },
  );
}

/** Lets an erasure get as far as the webhooks of the company and no further. */
async function holdHalfWay(system: System, companyId: number) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: isHeld, resolve: nowHeld } = Promise.withResolvers<void>();
  let isOver = false;
  const holding = system.db.transaction(async (sql) => {
    await sql.query('SELECT FROM webhooks WHERE company_id = $1 FOR UPDATE', [companyId]);
    nowHeld();
    while (!isOver) {
      await Promise.race([released, delay(500)]);
      await sql.query('SELECT 1');
    }
  });
  holding.catch(() => undefined);
  await Promise.race([isHeld, holding]);
  const letGo = async () => {
    isOver = true;
    release();
    await holding;
  };
  return {
    release: letGo,
    isReached: () =>
      waitFor(
        async () => {
          const { rowCount } = await system.db.query(
            `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE FROM webhooks %'`,
          );
          return rowCount !== 0;
        },
        60_000,
        { what: 'the erasure waits for a row that is held' },
      ),
  };
}

async function halfOf(system: System, companyId: number) {
  const { rows } = await system.db.query<{ instances: number; companies: number }>(
    `SELECT (SELECT count(*) FROM instances WHERE company_id = $1)::integer AS instances,
            (SELECT count(*) FROM companies WHERE id = $1)::integer AS companies`,
    [companyId],
  );
  return rows[0];
}

/** After a day, files and notes of uploads that were cut off no longer count as uploads under way. */
async function letDayPass(system: System): Promise<void> {
  const spool = path.join(system.env.DATA_DIR!, 'media', '.spool');
  const then = new Date(Date.now() - DAY_MS);
  for (const name of await readdir(spool)) await utimes(path.join(spool, name), then, then);
  await system.db.query(`UPDATE media_trash SET due_at = due_at - interval '1 day'`);
}

const NOTHING = { rows: {}, tables: {}, files: [] };

/** Traces of companies: rows by their column, and tables and files that contain one of their words. */
async function findTraces(system: System, gone: readonly MarkedCompany[]) {
  const words = gone.flatMap(wordsOf);
  const rows: Record<string, number> = {};
  for (const { company } of gone) Object.assign(rows, await findByColumn(system.db, company.companyId));
  return {
    rows,
    tables: await findInTables(system.db, words),
    files: await findInFiles(path.join(system.env.DATA_DIR!, 'media'), words),
  };
}

const isEmpty = ({ rows, tables, files }: Awaited<ReturnType<typeof findTraces>>) =>
  Object.keys({ ...rows, ...tables }).length + files.length === 0;

/** Words that nobody else's data contains. */
function wordsOf({ mark, phones, instances }: MarkedCompany): string[] {
  return [mark, phones, ...instances.flatMap(({ id, phone }) => [id, phone])];
}
