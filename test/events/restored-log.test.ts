import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cursor } from '@posthorn/core/events/cursor.ts';
import { type EventPage, readEvents, readEventsEnd } from '@posthorn/core/events/read-events.ts';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { createParts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { putEvent } from './support.ts';

/** Waits for the transactions of other databases of the cluster that hold back events. */
function readAll(db: Db, companyId: number, after: Cursor): Promise<EventPage> {
  const query = { companyId, after, nowMs: Date.now(), limit: 10, maxBytes: 1_000_000 };
  return waitFor(async () => {
    const page = await readEvents(db, query);
    return !page.pending && page;
  });
}

/** The end of the log, behind all of its events. */
function readEnd(db: Db, companyId: number, nowMs: number): Promise<Cursor> {
  return waitFor(async () => {
    const end = await readEventsEnd(db, nowMs);
    return (await readAll(db, companyId, end)).events.length === 0 && end;
  });
}

test('a reader who stood at the end of the log before a restore into another cluster misses none of what comes after it', async (t) => {
  const { url, db, close } = await createParts();
  t.after(close);
  const { companyId } = await seedCompany(db);
  const work = async (transactions: number) => {
    for (let nth = 0; nth < transactions; nth += 1) await db.query('SELECT pg_current_xact_id()');
  };
  // The cluster of the backup was further on in its transactions than this one.
  await db.query('UPDATE event_clock SET tx_base = 1000000');
  await putEvent(db, companyId);
  await work(20);
  const cursor = await readEnd(db, companyId, Date.now());
  await db.query('UPDATE event_clock SET system_identifier = system_identifier - 1');

  await migrate(url);
  const { eventId } = await putEvent(db, companyId);
  await work(40);
  const page = await readAll(db, companyId, cursor);
  assert.deepEqual([page.ahead, page.events.map((event) => event.eventId)], [false, [eventId]]);
});

test('a reader whose cursor was given before the clock of the database was set back by days misses nothing', async (t) => {
  const { db, close } = await createParts();
  t.after(close);
  const { companyId } = await seedCompany(db);
  await putEvent(db, companyId);
  const cursor = await readEnd(db, companyId, Date.now() + 3 * 86_400_000);
  const { eventId } = await putEvent(db, companyId);
  const page = await readAll(db, companyId, cursor);
  assert.deepEqual(
    page.events.map((event) => event.eventId),
    [eventId],
  );
});
