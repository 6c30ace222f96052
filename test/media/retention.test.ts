import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createInboundStore } from '@posthorn/core/media/inbound-store.ts';
import { MediaUnusable } from '@posthorn/core/media/media-port.ts';
import { StorageError } from '@posthorn/core/platform/storage/storage.ts';
import { createMediaRetentionJob } from '@posthorn/worker/media/media-retention-job.ts';
import { openWorkerMedia } from '@posthorn/worker/media/open-worker-media.ts';
import { seedInstance } from '../support/seed.ts';
import { animatedWebp, bigJpeg, jpeg, png, wav } from './samples.ts';
import { type MediaServer, startMediaServer } from './support.ts';

const DAY_MS = 86_400_000;

let media: MediaServer;
let scope: { companyId: number; instanceId: string };
before(async () => {
  media = await startMediaServer();
});
beforeEach(async () => {
  const instanceId = await seedInstance(media.parts.db, media.company.companyId);
  scope = { companyId: media.company.companyId, instanceId };
});
after(() => media.close());

const job = (storage = media.media.storage) =>
  createMediaRetentionJob({ ...media.parts, media: { ...media.media, storage } });

const upload = async (bytes: Buffer) =>
  (
    await media.media.sources.fromUpload(
      scope,
      { stream: Readable.from([bytes]), fileName: '', mimeType: '' },
      'document',
    )
  ).mediaId;

async function statusOf(mediaId: string): Promise<number> {
  const url = `/v1/instances/${scope.instanceId}/media/${mediaId}/info`;
  return (await media.call('GET', url, { key: media.company.apiKey })).status;
}

async function keysOf(mediaId: string): Promise<string[]> {
  const found = await media.parts.db.query<{ storage_key: string }>(
    `SELECT storage_key FROM media WHERE id = $1
     UNION SELECT storage_key FROM media_variants WHERE media_id = $1 AND storage_key IS NOT NULL`,
    [mediaId],
  );
  return found.rows.map((row) => row.storage_key);
}

describe('media past its 7 days', () => {
  test('disappears for users at that moment, and its bytes with the next round; base64 stays', async () => {
    const worker = await openWorkerMedia({ config: media.config, media: media.media, log: media.parts.log });
    const uploaded = await upload(wav(1));
    const kept = (await media.media.sources.fromBase64(scope, (await png()).toString('base64'), 'image'))
      .mediaId;
    await worker.preparer.prepare(
      scope,
      { mediaId: uploaded, type: 'audio', voice: true },
      AbortSignal.timeout(20_000),
    );
    const keys = await keysOf(uploaded);
    assert.equal(keys.length, 2, 'the upload and its voice note');
    media.parts.clock.advance(7 * DAY_MS - 1000);
    await job().runOnce();
    assert.equal(await statusOf(uploaded), 200);
    media.parts.clock.advance(1000);
    assert.equal(await statusOf(uploaded), 404);
    assert.equal(await media.media.sources.find(scope, uploaded, 'audio'), null);
    const { objects } = (await job().runOnce())!;
    assert.ok(objects >= 2);
    const left = await media.files();
    for (const key of keys) assert.ok(!left.includes(key));
    media.parts.clock.advance(3650 * DAY_MS);
    await job().runOnce();
    assert.equal(await statusOf(kept), 200);
    assert.ok((await media.files()).includes((await keysOf(kept))[0]!));
  });

  test('stays for a send that still waits for it, queued or scheduled', async () => {
    const queued = await upload(await jpeg({ width: 70 }));
    const scheduled = await upload(await jpeg({ width: 71 }));
    const idle = await upload(await jpeg({ width: 72 }));
    const [messageId, taskId] = [randomUUID(), randomUUID()];
    await media.parts.db.query(
      `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, media_id, created_at)
       VALUES ($1, $2, $3, 'outbound', 'image', 'x@s.whatsapp.net', 'queued', '{}', $4, now())`,
      [messageId, scope.companyId, scope.instanceId, queued],
    );
    await media.parts.db.query(
      `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at)
       VALUES ($1, $2, $3, 0, 'image', $4, now())`,
      [taskId, scope.companyId, scope.instanceId, messageId],
    );
    await media.parts.db.query(
      `INSERT INTO scheduled_sends (id, company_id, instance_id, type, send_at, status, body, idempotency_key, force,
                                    user_id, is_superadmin, created_at)
       VALUES ($1, $2, $3, 'image', now() + interval '30 days', 'scheduled', $4, 'k', false, $5, false, now())`,
      [randomUUID(), scope.companyId, scope.instanceId, { media_id: scheduled }, media.company.userId],
    );
    media.parts.clock.advance(8 * DAY_MS);
    await job().runOnce();
    assert.equal((await keysOf(idle)).length, 0);
    assert.equal((await keysOf(queued)).length, 1);
    assert.ok(await media.media.sources.find(scope, scheduled, 'image'), 'the scheduled send finds it');
    await media.parts.db.query('DELETE FROM outbox WHERE task_id = $1', [taskId]);
    await media.parts.db.query('DELETE FROM scheduled_sends WHERE instance_id = $1', [scope.instanceId]);
    await job().runOnce();
    assert.equal((await keysOf(queued)).length, 0);
    assert.equal((await keysOf(scheduled)).length, 0);
  });

  test('is removed in any number, and one storage fault only delays it', async () => {
    await media.parts.db.query(
      `INSERT INTO media (id, company_id, instance_id, source, mime_type, file_name, size_bytes, sha256, storage_key,
                          created_at, expires_at)
       SELECT gen_random_uuid(), $1, $2, 'uploads', 'image/png', 'f', 1, '\\x00', 'gone/' || n, $3, $3
       FROM generate_series(1, 1300) AS n`,
      [scope.companyId, scope.instanceId, new Date(media.parts.clock.now().getTime() - DAY_MS)],
    );
    const storage = media.media.storage!;
    const failing = {
      ...storage,
      remove: (key: string) =>
        key.endsWith('7') ? Promise.reject(new StorageError('away')) : storage.remove(key),
    };
    const first = (await job(failing).runOnce())!;
    assert.equal(first.rows, 1300);
    const trash = await media.parts.db.query(`SELECT 1 FROM media_trash WHERE storage_key LIKE 'gone/%'`);
    assert.equal(trash.rowCount, 130);
    await job().runOnce();
    const after = await media.parts.db.query(`SELECT 1 FROM media_trash WHERE storage_key LIKE 'gone/%'`);
    assert.equal(after.rowCount, 0);
  });
});

describe('media that nobody owns any more', () => {
  test('is removed: media of a deleted instance, writes that were cut off, spooled files of dead processes', async () => {
    const uploaded = await upload(await png());
    const [key] = await keysOf(uploaded);
    await media.parts.db.query('DELETE FROM instances WHERE id = $1', [scope.instanceId]);
    // As left by a process that died after it stored the object and before it wrote the row.
    await media.media.storage!.put(
      'lost/object',
      await media.media.spool.write(Readable.from([Buffer.from('x')])),
      { mimeType: 'image/png' },
    );
    const now = media.parts.clock.now().getTime();
    await media.parts.db.query(`INSERT INTO media_trash VALUES ('lost/object', $1)`, [
      new Date(now + DAY_MS),
    ]);
    const spooled = path.join(media.media.storage!.spoolDir, 'abandoned');
    await writeFile(spooled, 'x');
    await job().runOnce();
    let left = await media.files();
    assert.ok(!left.includes(key!), 'media of the deleted instance');
    assert.ok(left.includes('lost/object'), 'a write that may still be under way');
    assert.ok(left.includes('.spool/abandoned'));
    media.parts.clock.advance(DAY_MS);
    await utimes(spooled, new Date(Date.now() - 7_200_000), new Date(Date.now() - 7_200_000));
    await job().runOnce();
    left = await media.files();
    assert.ok(!left.includes('lost/object'));
    assert.ok(!left.includes('.spool/abandoned'));
  });

  test('leaves no row after a failed write, and its object is removed', async () => {
    const storage = media.media.storage!;
    const failing = createInboundStore(
      {
        ...media.media,
        storage: { ...storage, put: () => Promise.reject(new StorageError('full')) },
      },
      { silenceMs: 5_000 },
    );
    await assert.rejects(failing.store(scope, inbound('failing', await png())));
    const rows = await media.parts.db.query('SELECT 1 FROM media WHERE instance_id = $1', [scope.instanceId]);
    assert.equal(rows.rowCount, 0);
    assert.deepEqual(
      (await media.files()).filter((name) => name.startsWith('.spool')),
      [],
    );
  });
});

function inbound(key: string, bytes: Buffer, more: Partial<{ mimeType: string; fileName: string }> = {}) {
  return {
    key,
    remoteJid: '5511999990000@s.whatsapp.net',
    mimeType: more.mimeType ?? 'image/jpeg',
    fileName: more.fileName ?? '',
    open: async () => Readable.from([bytes]),
  };
}

describe('received media', () => {
  const store = () =>
    createInboundStore({ ...media.media, storage: media.media.storage! }, { silenceMs: 5_000 });

  test('is removed within a day when the storage keeps it after a failed write', async () => {
    const storage = media.media.storage!;
    const late = Promise.withResolvers<string>();
    const slow = createInboundStore(
      {
        ...media.media,
        storage: {
          ...storage,
          put: async (key) => {
            late.resolve(key);
            throw new StorageError('timed out');
          },
        },
      },
      { silenceMs: 5_000 },
    );
    await assert.rejects(slow.store(scope, inbound('3EB0AD', await png())));
    const key = await late.promise;
    const file = await media.media.spool.write(Readable.from([Buffer.from('stored after all')]));
    await storage.put(key, file, { mimeType: 'image/png' });
    media.parts.clock.advance(DAY_MS + 1_000);
    await job().runOnce();
    await assert.rejects(storage.open(key), { name: 'StorageMissing' });
  });

  test('is complete when the answer of the database was lost and the message comes again', async () => {
    const { db } = media.parts;
    const query = (async (...args: Parameters<typeof db.query>) => {
      const answer = await db.query(...args);
      const [config] = args as unknown as [{ name?: string }];
      if (config.name === 'media-insert') throw new Error('Connection terminated unexpectedly');
      return answer;
    }) as typeof db.query;
    const cut = createInboundStore(
      { ...media.media, db: { ...db, query }, storage: media.media.storage! },
      { silenceMs: 5_000 },
    );
    const bytes = await jpeg({ width: 91 });
    await assert.rejects(cut.store(scope, inbound('3EB0AC', bytes)), /Connection terminated/);
    const { mediaId } = await store().store(scope, inbound('3EB0AC', bytes));
    const [key] = await keysOf(mediaId);
    assert.deepEqual(await buffer(await media.media.storage!.open(key!)), bytes);
  });

  test('is stored once for a message, however often and simultaneously it comes', async () => {
    const bytes = await jpeg({ width: 90 });
    const stored = await Promise.all(
      Array.from({ length: 10 }, () => store().store(scope, inbound('3EB0AA', bytes))),
    );
    assert.equal(new Set(stored.map(({ mediaId }) => mediaId)).size, 1);
    let opened = 0;
    const again = await store().store(scope, {
      ...inbound('3EB0AA', bytes),
      open: async () => {
        opened += 1;
        return Readable.from([bytes]);
      },
    });
    assert.equal(again.mediaId, stored[0]!.mediaId);
    assert.equal(opened, 0, 'the network is not asked again');
    const keys = await keysOf(again.mediaId);
    const mine = (await media.files()).filter((name) => name.includes(scope.instanceId));
    assert.deepEqual(mine, keys);
    const list = await media.call('GET', `/v1/instances/${scope.instanceId}/media/conversations`, {
      key: media.company.apiKey,
    });
    assert.deepEqual(list.body.data[0].remote_jid, '5511999990000@s.whatsapp.net');
    assert.equal(list.body.data[0].media_count, 1);
  });

  test('gets its type from its content, and says whether a sticker moves', async () => {
    const sticker = await store().store(scope, inbound('s', await animatedWebp()));
    assert.deepEqual([sticker.mimeType, sticker.animated], ['image/webp', true]);
    const contract = await store().store(
      scope,
      inbound('d', Buffer.from('col1;col2\n'), { mimeType: 'text/csv', fileName: 'contrato.csv' }),
    );
    assert.equal(contract.mimeType, 'text/csv');
  });

  test('says so when it can never be stored, and is tried again after a failure on the way', async () => {
    for (const [bytes, reason] of [
      [Buffer.alloc(0), 'media_empty'],
      [bigJpeg(64 * 1024 * 1024 + 1), 'media_too_large'],
    ] as const) {
      await assert.rejects(store().store(scope, inbound(reason, bytes)), (err: unknown) => {
        assert.ok(err instanceof MediaUnusable);
        assert.equal(err.reason, reason);
        return true;
      });
    }
    const broken = {
      ...inbound('broken', await png()),
      open: async () =>
        Readable.from(
          (async function* () {
            yield Buffer.from('\x89PNG', 'latin1');
            throw new Error('the connection broke');
          })(),
        ),
    };
    await assert.rejects(store().store(scope, broken), (err: unknown) => !(err instanceof MediaUnusable));
    assert.ok((await store().store(scope, inbound('broken', await png()))).mediaId);
  });
});
