import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { type MessageRow, viewMessages } from '@posthorn/core/messages/find-message.ts';
import type { Storage } from '@posthorn/core/platform/storage/storage.ts';
import { createMediaRetentionJob } from '@posthorn/worker/media/media-retention-job.ts';
import { type ArchiveJob, createArchiveJob } from '@posthorn/worker/retention/archive-job.ts';
import { type MediaServer, startMediaServer } from '../media/support.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

const DAY_MS = 86_400_000;
/** Thirty days before is the 16th of May: the messages of April and before are removed. */
const NOW = new Date('2031-06-15T12:00:00Z');
const FIRST_KEPT = new Date('2031-05-01T00:00:00Z');

let media: MediaServer;
let company: SeededCompany;
let instanceId: string;
before(async () => {
  media = await startMediaServer();
  media.parts.clock.advance(NOW.getTime() - media.parts.clock.now().getTime());
});
beforeEach(async () => {
  company = await seedCompany(media.parts.db);
  instanceId = await seedInstance(media.parts.db, company.companyId, { state: 'CREATED' });
});
after(() => media.close());

/** Runs the job once; a failed job may hold its lock for a moment longer. */
const run = (settings?: Parameters<typeof job>[0]) => finished(job(settings));
async function finished(archiving: ArchiveJob) {
  for (;;) {
    const removed = await archiving.runOnce();
    if (removed) return removed;
    await delay(5);
  }
}

const job = (settings: { days?: number; archives?: boolean; storage?: Storage | null } = {}) =>
  createArchiveJob({
    ...media.parts,
    media: {
      spool: media.media.spool,
      storage: settings.storage === undefined ? media.media.storage : settings.storage,
    },
    config: {
      MESSAGE_RETENTION_DAYS: 'days' in settings ? settings.days : 30,
      MESSAGE_ARCHIVE: settings.archives ?? true,
    },
  });

/** Inserts one message each `everyMs` from a time on, in an instance; returns their ids. */
async function fill(id: string, from: Date, count: number, everyMs: number): Promise<string[]> {
  const { rows } = await media.parts.db.query<{ id: string }>(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, idempotency_key, created_at)
     SELECT uuidv7(at - clock_timestamp()), $2, $1, 'outbound', 'text', '5511999990000@s.whatsapp.net', 'read',
            jsonb_build_object('text', 'number ' || nth), 'key ' || nth, at
     FROM (SELECT nth, $3::timestamptz + make_interval(secs => nth * $5::double precision / 1000) AS at FROM generate_series(0, $4 - 1) AS nth) AS made
     RETURNING id`,
    [id, company.companyId, from, count, everyMs],
  );
  return rows.map((row) => row.id).toSorted();
}

async function kept(id = instanceId): Promise<string[]> {
  const { rows } = await media.parts.db.query<{ id: string }>(
    'SELECT id FROM messages WHERE instance_id = $1 ORDER BY id',
    [id],
  );
  return rows.map((row) => row.id);
}

interface Archive {
  storage_key: string;
  first_at: Date;
  last_at: Date;
  messages: number;
  size_bytes: number;
}

async function archives(id = instanceId): Promise<Archive[]> {
  const { rows } = await media.parts.db.query<Archive>(
    'SELECT * FROM message_archives WHERE instance_id = $1 ORDER BY first_at, created_at',
    [id],
  );
  return rows;
}

async function read({ storage_key: key }: Archive): Promise<{ message_id: string; status: string }[]> {
  const bytes = await buffer(await media.media.storage!.open(key));
  return gunzipSync(bytes)
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const idsOf = (messages: readonly { message_id: string }[]) => messages.map(({ message_id }) => message_id);

describe('messages past their retention', () => {
  it('are removed by whole months, and are in an archive as the API showed them', async () => {
    const from = new Date('2031-03-20T00:00:00Z');
    const ids = await fill(instanceId, from, 2_500, 0.03 * DAY_MS);
    const { rows } = await media.parts.db.query<MessageRow>('SELECT * FROM messages WHERE id = $1', [ids[0]]);
    const [shown] = await viewMessages(media.parts.db, rows);
    const isOld = (nth: number) => from.getTime() + nth * 0.03 * DAY_MS < FIRST_KEPT.getTime();
    const old = ids.filter((_, nth) => isOld(nth));
    assert.ok(old.length > 1_000 && old.length < 2_000);
    const removed = await run();
    assert.deepEqual(removed, { messages: old.length, archives: 1 });
    assert.deepEqual(await kept(), ids.slice(old.length));
    const [archive] = await archives();
    const messages = await read(archive!);
    assert.deepEqual(idsOf(messages), old);
    assert.deepEqual(messages[0], JSON.parse(JSON.stringify(shown)));
    assert.equal(archive!.messages, old.length);
    assert.equal(archive!.first_at.toISOString(), from.toISOString());
    assert.ok(archive!.last_at < FIRST_KEPT);
    const { rowCount } = await media.parts.db.query('SELECT FROM media_trash WHERE storage_key = $1', [
      archive!.storage_key,
    ]);
    assert.equal(rowCount, 0);
    assert.deepEqual(await run(), { messages: 0, archives: 0 });
  });

  it('fill files of 20,000 at most', async () => {
    const ids = await fill(instanceId, new Date('2031-02-01T00:00:00Z'), 20_001, 1_000);
    await run();
    assert.deepEqual(
      (await archives()).map(({ messages }) => messages),
      [20_000, 1],
    );
    const messages = (await Promise.all((await archives()).map(read))).flat();
    assert.deepEqual(idsOf(messages), ids);
  });

  it('stay while something is to be done with them', async () => {
    const [first, second] = await fill(instanceId, new Date('2031-01-01T00:00:00Z'), 2, 1_000);
    const taskId = randomUUID();
    await media.parts.db.query(
      `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at)
       VALUES ($1, $2, $3, 0, 'edit', $4, now())`,
      [taskId, company.companyId, instanceId, first],
    );
    await run();
    assert.deepEqual(await kept(), [first]);
    await media.parts.db.query('DELETE FROM outbox WHERE task_id = $1', [taskId]);
    await run();
    assert.deepEqual(await kept(), []);
    assert.deepEqual((await Promise.all((await archives()).map(read))).flatMap(idsOf).toSorted(), [
      first,
      second,
    ]);
  });

  it('are kept by when they were sent, however long ago they were scheduled', async () => {
    const [scheduled, sent] = await fill(instanceId, new Date('2031-01-01T00:00:00Z'), 2, 1_000);
    await media.parts.db.query('UPDATE messages SET created_at = $2 WHERE id = $1', [scheduled, FIRST_KEPT]);
    assert.deepEqual(await run(), { messages: 1, archives: 1 });
    assert.deepEqual(await kept(), [scheduled]);
    assert.deepEqual((await Promise.all((await archives()).map(read))).flatMap(idsOf), [sent]);
  });

  it('go with a later round when they change while they are archived', async () => {
    const [first] = await fill(instanceId, new Date('2031-01-01T00:00:00Z'), 3, 1_000);
    const storage = media.media.storage!;
    const put: Storage['put'] = async (...put) => {
      await media.parts.db.query(`UPDATE messages SET status = 'played' WHERE id = $1`, [first]);
      await storage.put(...put);
    };
    assert.deepEqual(await run({ storage: { ...storage, put } }), { messages: 2, archives: 1 });
    assert.deepEqual(await kept(), [first]);
    await run();
    assert.deepEqual(await kept(), []);
    const last = await read((await archives())[1]!);
    assert.deepEqual(
      last.map(({ message_id, status }) => [message_id, status]),
      [[first, 'played']],
    );
  });

  it('are kept as long as the plan allows, whatever the settings are', async () => {
    const ids = await fill(instanceId, new Date('2031-01-01T00:00:00Z'), 3, 30 * DAY_MS);
    const plan = (days: number | null) =>
      media.parts.db.query('UPDATE companies SET message_retention_days = $2 WHERE id = $1', [
        company.companyId,
        days,
      ]);
    await plan(400);
    await run();
    assert.deepEqual(await kept(), ids);
    await plan(110);
    await run({ days: undefined });
    assert.deepEqual(await kept(), ids.slice(2));
    await plan(null);
    await run({ days: undefined });
    assert.deepEqual(await kept(), ids.slice(2));
  });

  it('just go where no archive is wanted, and stay where it is and there is no storage', async () => {
    const ids = await fill(instanceId, new Date('2031-01-01T00:00:00Z'), 3, 1_000);
    await run({ storage: null });
    assert.deepEqual(await kept(), ids);
    await run({ archives: false, storage: null });
    assert.deepEqual(await kept(), []);
    assert.deepEqual(await archives(), []);
  });

  it('stay when the storage or the database fails, and are archived once it works', async () => {
    const ids = await fill(instanceId, new Date('2031-01-01T00:00:00Z'), 3, 1_000);
    const storage = media.media.storage!;
    await assert.rejects(run({ storage: { ...storage, put: () => Promise.reject(new Error('away')) } }));
    assert.deepEqual(await kept(), ids);
    const { db } = media.parts;
    const cutOff = (isDone: boolean) =>
      (async (...args: Parameters<typeof db.query>) => {
        const [config] = args as unknown as [{ name?: string }];
        if (config.name !== 'archive-store') return db.query(...args);
        if (isDone) await db.query(...args);
        throw new Error('the connection is cut');
      }) as typeof db.query;
    const cut = (isDone: boolean) =>
      finished(
        createArchiveJob({
          ...media.parts,
          db: { ...db, query: cutOff(isDone) },
          media: media.media,
          config: { MESSAGE_RETENTION_DAYS: 30, MESSAGE_ARCHIVE: true },
        }),
      );
    await assert.rejects(cut(false), /the connection is cut/);
    assert.deepEqual(await kept(), ids);
    assert.deepEqual(await archives(), []);
    // The write succeeds, and only its answer is lost.
    await assert.rejects(cut(true), /the connection is cut/);
    assert.deepEqual(await kept(), []);
    const [archive] = await archives();
    assert.deepEqual(idsOf(await read(archive!)), ids);
    // The file of the first try is removed because of its note, and no other file.
    media.parts.clock.advance(2 * DAY_MS);
    await createMediaRetentionJob({ ...media.parts, media: media.media }).runOnce();
    const { rowCount } = await db.query('SELECT FROM media_trash');
    assert.equal(rowCount, 0);
    assert.deepEqual(idsOf(await read(archive!)), ids);
  });

  it('just go with their instance, and its archives leave the storage', async () => {
    await fill(instanceId, new Date('2031-01-01T00:00:00Z'), 3, 1_000);
    await run();
    const [archive] = await archives();
    await fill(instanceId, new Date('2031-01-01T00:00:00Z'), 3, 1_000);
    const deleted = await media.call('DELETE', `/v1/instances/${instanceId}`, { key: company.apiKey });
    assert.equal(deleted.status, 204);
    assert.deepEqual(await run(), { messages: 3, archives: 0 });
    assert.deepEqual(await kept(), []);
    await createMediaRetentionJob({ ...media.parts, media: media.media }).runOnce();
    assert.deepEqual(await archives(), []);
    await assert.rejects(read(archive!), { name: 'StorageMissing' });
  });

  it('take the statuses of their months with them, and what is known of who viewed those', async () => {
    const { db } = media.parts;
    await db.query(
      `WITH posted AS (
         INSERT INTO status_feed (id, company_id, instance_id, direction, status_id, author_jid, type, content, posted_at)
         SELECT gen_random_uuid(), $2, $1, 'inbound', key, '5511999990000@s.whatsapp.net', 'text', 'words', at
         FROM (VALUES ('OLD', $3::timestamptz - interval '1 second'), ('KEPT', $3)) AS made (key, at)
         RETURNING status_id)
       INSERT INTO status_views (instance_id, status_id, viewer_jid, company_id, receipt_type, viewed_at)
       SELECT $1, status_id, '5511999990001@s.whatsapp.net', $2, 'read', now() FROM posted`,
      [instanceId, company.companyId, FIRST_KEPT],
    );
    const left = async () => {
      const { rows } = await db.query<{ status_id: string }>(
        `SELECT status_id FROM status_feed WHERE instance_id = $1
         UNION ALL SELECT status_id FROM status_views WHERE instance_id = $1`,
        [instanceId],
      );
      return rows.map((row) => row.status_id).toSorted();
    };
    await run({ days: undefined });
    assert.deepEqual(await left(), ['KEPT', 'KEPT', 'OLD', 'OLD']);
    await run();
    assert.deepEqual(await left(), ['KEPT', 'KEPT']);
    const deleted = await media.call('DELETE', `/v1/instances/${instanceId}`, { key: company.apiKey });
    assert.equal(deleted.status, 204);
    assert.deepEqual(await left(), [], 'the others go with their instance');
  });
});
