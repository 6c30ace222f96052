import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { purgeCompany } from '@posthorn/core/accounts/company/purge-company.ts';
import { createInboundStore } from '@posthorn/core/media/inbound-store.ts';
import { MediaUnusable } from '@posthorn/core/media/media-port.ts';
import { StorageError } from '@posthorn/core/platform/storage/storage.ts';
import { createMediaRetentionJob } from '@posthorn/worker/media/media-retention-job.ts';
import { openWorkerMedia } from '@posthorn/worker/media/open-worker-media.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { bigJpeg, jpeg, wav } from './samples.ts';
import { type MediaServer, startMediaServer } from './support.ts';

const MB = 1024 * 1024;

let media: MediaServer;
let company: SeededCompany;
let instanceId: string;
before(async () => {
  media = await startMediaServer();
});
after(() => media.close());
beforeEach(async () => {
  company = await seedCompany(media.parts.db);
  instanceId = await seedInstance(media.parts.db, company.companyId);
  await allow(4);
});

async function allow(mb: number | null): Promise<void> {
  await media.parts.db.query('UPDATE companies SET storage_mb = $2 WHERE id = $1', [company.companyId, mb]);
}

function upload(bytes: Buffer) {
  return media.upload(bytes, { key: company.apiKey, path: `/v1/instances/${instanceId}/media` });
}

let chats = 0;
function send(bytes: Buffer) {
  return media.call('POST', `/v1/instances/${instanceId}/messages/image`, {
    key: company.apiKey,
    body: { to: `55119${String(++chats).padStart(8, '0')}`, media_base64: bytes.toString('base64') },
    headers: { 'idempotency-key': randomUUID() },
  });
}

/** The counter, after a check that it equals the sum of the rows. */
async function used(): Promise<number> {
  const found = await media.parts.db.query<{ used: number; counted: number }>(
    `SELECT used_bytes AS used,
            (SELECT coalesce(sum(size_bytes), 0) FROM media WHERE company_id = $1)::bigint
            + (SELECT coalesce(sum(size_bytes), 0) FROM media_variants
               WHERE company_id = $1 AND storage_key IS NOT NULL)::bigint AS counted
     FROM media_usage WHERE company_id = $1`,
    [company.companyId],
  );
  const row = found.rows[0]!;
  assert.equal(row.used, row.counted, 'the counter is true');
  return row.used;
}

/** A company has a share of the memory for media: a request above it is repeated, as its answer asks. */
async function patient<T extends { status: number }>(request: () => Promise<T>): Promise<T> {
  for (;;) {
    const answer = await request();
    if (answer.status !== 503) return answer;
    await sleep(50);
  }
}

function refused(answer: { status: number; body: { error_code?: string } }): void {
  assert.deepEqual([answer.status, answer.body.error_code], [403, 'PLAN_LIMIT_REACHED']);
}

describe('POST /media 403 PLAN_LIMIT_REACHED', () => {
  test('one byte above the storage of the plan, whichever way the media comes', async () => {
    assert.equal((await upload(bigJpeg(3 * MB))).status, 201);
    refused(await upload(bigJpeg(MB + 1)));
    refused(await send(bigJpeg(MB + 1)));
    assert.equal((await upload(bigJpeg(MB))).status, 201);
    refused(await upload(await jpeg()));
    assert.equal(await used(), 4 * MB);
    await allow(5);
    assert.equal((await upload(await jpeg())).status, 201);
  });

  test('the free limit where there is no plan', async () => {
    await allow(null);
    assert.equal((await upload(bigJpeg(MB))).status, 201);
    await media.parts.db.query(
      'UPDATE media_usage SET used_bytes = 1024::bigint * 1024 * 1024 - 10 WHERE company_id = $1',
      [company.companyId],
    );
    refused(await upload(await jpeg()));
  });

  test('just the fitting uploads are stored when as many as possible come at the same time', async () => {
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, i) => patient(() => (i % 2 ? upload : send)(bigJpeg(MB + i)))),
    );
    const stored = answers.filter(({ status }) => status === 201 || status === 202);
    assert.equal(stored.length, 3);
    for (const answer of answers) if (!stored.includes(answer)) refused(answer);
    assert.ok((await used()) <= 4 * MB);
    const files = (await media.files()).filter((name) => name.startsWith(`${company.companyId}/`));
    assert.equal(files.length, 3, 'what was refused has left nothing');
  });

  test('the same base64 again takes no more room', async () => {
    const bytes = bigJpeg(3 * MB);
    assert.equal((await send(bytes)).status, 202);
    assert.equal((await send(bytes)).status, 202);
    assert.equal(await used(), 3 * MB);
  });

  test('one company takes no room from another', async () => {
    const other = await seedCompany(media.parts.db);
    assert.equal((await upload(bigJpeg(4 * MB))).status, 201);
    const theirs = await seedInstance(media.parts.db, other.companyId);
    const answer = await media.upload(bigJpeg(MB), {
      key: other.apiKey,
      path: `/v1/instances/${theirs}/media`,
    });
    assert.equal(answer.status, 201);
  });
});

describe('the counter stays true', () => {
  const job = () => createMediaRetentionJob({ ...media.parts, media: media.media });

  test('when media is past its time', async () => {
    assert.equal((await upload(bigJpeg(2 * MB))).status, 201);
    await media.parts.db.query(`UPDATE media SET expires_at = '-infinity' WHERE company_id = $1`, [
      company.companyId,
    ]);
    await job().runOnce();
    assert.equal(await used(), 0);
  });

  test('when the instance is deleted', async () => {
    assert.equal((await upload(bigJpeg(2 * MB))).status, 201);
    const answer = await media.call('DELETE', `/v1/instances/${instanceId}`, { key: company.apiKey });
    assert.ok(answer.status < 300, answer.text);
    await job().runOnce();
    assert.equal(await used(), 0);
  });

  test('when the company is purged, and leaves no counter', async () => {
    assert.equal((await upload(bigJpeg(2 * MB))).status, 201);
    await media.parts.db.query(`UPDATE companies SET status = 'deleted', deleted_at = now() WHERE id = $1`, [
      company.companyId,
    ]);
    await purgeCompany(media.parts, company.companyId);
    const left = await media.parts.db.query('SELECT 1 FROM media_usage WHERE company_id = $1', [
      company.companyId,
    ]);
    assert.equal(left.rowCount, 0);
  });

  test('when the storage takes nothing', async () => {
    const storage = media.media.storage!;
    const put = storage.put;
    storage.put = () => Promise.reject(new StorageError('full'));
    try {
      assert.equal((await upload(bigJpeg(MB))).status, 500);
    } finally {
      storage.put = put;
    }
    assert.equal(await used(), 0);
  });
});

describe('media that arrives', () => {
  const inbound = (bytes: Buffer, key: string = randomUUID()) => {
    const store = createInboundStore({ ...media.media, storage: media.media.storage! }, { silenceMs: 5_000 });
    return store.store(
      { companyId: company.companyId, instanceId },
      {
        key,
        remoteJid: '5511999990000@s.whatsapp.net',
        mimeType: 'image/jpeg',
        fileName: 'a.jpg',
        open: async () => Readable.from([bytes]),
      },
    );
  };

  test('is not kept without room, and is kept again when there is room', async () => {
    await inbound(bigJpeg(3 * MB), 'first');
    await assert.rejects(inbound(bigJpeg(2 * MB)), { code: 'PLAN_LIMIT_REACHED' });
    // A message that the network repeats takes no room.
    await inbound(bigJpeg(3 * MB), 'first');
    await allow(8);
    await inbound(bigJpeg(2 * MB));
    assert.equal(await used(), 5 * MB);
  });
});

describe('a file that is converted from stored media', () => {
  test('counts like any other, and without room for it the send fails with a reason', async () => {
    const { preparer } = await openWorkerMedia({
      config: media.config,
      media: media.media,
      log: media.parts.log,
    });
    const scope = { companyId: company.companyId, instanceId };
    const { mediaId } = await media.media.sources.fromBase64(scope, wav(3).toString('base64'), 'audio');
    const before = await used();
    await allow(0);
    const prepare = () =>
      preparer.prepare(scope, { mediaId, type: 'audio', voice: true }, AbortSignal.timeout(60_000));
    await assert.rejects(
      prepare(),
      (err) => err instanceof MediaUnusable && err.reason === 'media_storage_full',
    );
    // Nothing is converted here, so that stored media can still be sent.
    await preparer.prepare(scope, { mediaId, type: 'audio', voice: false }, AbortSignal.timeout(60_000));
    assert.equal(await used(), before);
  });

  test('is made as soon as there is room again', async () => {
    const { preparer } = await openWorkerMedia({
      config: media.config,
      media: media.media,
      log: media.parts.log,
    });
    const scope = { companyId: company.companyId, instanceId };
    const { mediaId } = await media.media.sources.fromBase64(scope, wav(2).toString('base64'), 'audio');
    const filler = await upload(bigJpeg(MB));
    await allow(1);
    const prepare = () =>
      preparer.prepare(scope, { mediaId, type: 'audio', voice: true }, AbortSignal.timeout(60_000));
    await assert.rejects(
      prepare(),
      (err) => err instanceof MediaUnusable && err.reason === 'media_storage_full',
    );
    const path = `/v1/instances/${instanceId}/media/${filler.body.media_id}`;
    assert.equal((await media.call('DELETE', path, { key: company.apiKey })).status, 204);
    assert.equal((await prepare()).mimeType, 'audio/ogg; codecs=opus');
  });
});
