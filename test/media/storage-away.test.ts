import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openMedia } from '@posthorn/core/media/open-media.ts';
import { HOUR_MS } from '@posthorn/core/platform/durations.ts';
import { StorageError } from '@posthorn/core/platform/storage/storage.ts';
import { createMediaRetentionJob } from '@posthorn/worker/media/media-retention-job.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';
import { type S3Server, settingsOf, startS3Server } from './s3-server.ts';
import { jpeg } from './samples.ts';
import { startMediaServer } from './support.ts';

/** Longer than the tries of one request, so that the work itself has to wait. */
const AWAY_MS = 5_000;

let s3: S3Server;
let pipeline: Sending;
let instance: TestInstance;
before(async () => {
  s3 = await startS3Server();
  pipeline = await startSending({ env: settingsOf(s3) });
  instance = await pipeline.connect();
});
after(async () => {
  await pipeline.close();
  await s3.goAway();
});

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const mediaPath = () => `${pipeline.api.url}/v1/instances/${instance.id}/media`;
const headers = () => ({ 'x-api-key': pipeline.company.apiKey });

async function upload(bytes: Buffer) {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(bytes)], { type: 'image/jpeg' }), 'a.jpg');
  const answer = await fetch(mediaPath(), { method: 'POST', body: form, headers: headers() });
  return { status: answer.status, body: (await answer.json()) as { media_id: string; error_code: string } };
}

describe('while the bucket is away', () => {
  test('a send waits and goes out once, and received messages are recorded with their media', async () => {
    const [picture, received] = [await jpeg(), await jpeg({ width: 50 })];
    const { body } = await upload(picture);
    const [to, from] = [pipeline.newPhone(), pipeline.newPhone()];
    await s3.goAway();
    const sent = await pipeline.send(instance, '/messages/image', { to, media_id: body.media_id });
    await pipeline.sandbox.post(`/phones/${from}/messages`, {
      to: instance.phone,
      type: 'image',
      media_base64: received.toString('base64'),
      mime_type: 'image/jpeg',
    });
    await delay(AWAY_MS);
    assert.deepEqual(await pipeline.eventsOf(sent.message_id), []);
    await s3.comeBack();
    await pipeline.event(instance, 'message.sent', (data) => data.message_ids[0] === sent.message_id);
    const shown = await pipeline.shown(to);
    assert.deepEqual(
      shown.map((message) => message.media.sha256),
      [sha256(picture)],
    );
    const told = await pipeline.event(instance, 'message.received');
    const media = await fetch(`${mediaPath()}/${told.data.media_id}`, { headers: headers() });
    assert.equal(sha256(Buffer.from(await media.arrayBuffer())), sha256(received));
  });

  test('downloads answer 503 with Retry-After, uploads 500, and both work when it is back', async () => {
    const picture = await jpeg({ width: 51 });
    const { body } = await upload(picture);
    await s3.goAway();
    const download = await fetch(`${mediaPath()}/${body.media_id}`, { headers: headers() });
    assert.equal(download.status, 503);
    assert.equal(download.headers.get('retry-after'), '5');
    const refused = await upload(await jpeg({ width: 52 }));
    assert.deepEqual([refused.status, refused.body.error_code], [500, 'INTERNAL_SERVER_ERROR']);
    await s3.comeBack();
    const again = await fetch(`${mediaPath()}/${body.media_id}`, { headers: headers() });
    assert.equal(sha256(Buffer.from(await again.arrayBuffer())), sha256(picture));
    assert.equal((await upload(await jpeg({ width: 52 }))).status, 201);
  });

  test('a download that breaks in its middle is cut off, and not a short file', async () => {
    const { body } = await upload(await jpeg({ width: 900, height: 900, noise: true }));
    s3.trouble('get', 'lose');
    const download = await fetch(`${mediaPath()}/${body.media_id}`, { headers: headers() });
    assert.equal(download.status, 200);
    await assert.rejects(download.arrayBuffer());
  });
});

describe('a disk that is not mounted when a process starts', () => {
  test('is away, whatever is in the folder below it, and is back once it is mounted', async (t) => {
    const server = await startMediaServer();
    t.after(() => server.close());
    const { parts, config } = server;
    assert.equal((await server.upload(await jpeg())).status, 201);
    const { rows } = await parts.db.query<{ storage_key: string }>('SELECT storage_key FROM media');
    const key = rows[0]!.storage_key;
    const mounted = path.join(config.DATA_DIR, 'media');
    await rename(mounted, `${mounted}-elsewhere`);
    await mkdir(mounted);
    const started = await openMedia({ config, ...parts });
    t.after(() => started.close());
    const storage = started.storage!;
    const file = { path: path.join(config.DATA_DIR, 'file'), sizeBytes: 1 };
    await writeFile(file.path, 'x');
    await assert.rejects(storage.open(key), StorageError);
    await assert.rejects(storage.put('1/new', file, { mimeType: 'text/plain' }), StorageError);
    await assert.rejects(storage.remove(key), StorageError);
    await rm(mounted, { recursive: true });
    await rename(`${mounted}-elsewhere`, mounted);
    (await storage.open(key)).destroy();
    await storage.put('1/new', file, { mimeType: 'text/plain' });
  });

  test('loses no object that is to be removed, although its row is gone already', async (t) => {
    const server = await startMediaServer();
    t.after(() => server.close());
    const { parts, config } = server;
    assert.equal((await server.upload(await jpeg())).status, 201);
    await parts.db.query('DELETE FROM media');
    const mounted = path.join(config.DATA_DIR, 'media');
    await rename(mounted, `${mounted}-elsewhere`);
    await mkdir(mounted);
    const { db, log, clock } = parts;
    const started = await openMedia({ config, ...parts });
    t.after(() => started.close());
    const job = createMediaRetentionJob({ db, log, clock, media: started });
    await job.runOnce();
    await rm(mounted, { recursive: true });
    await rename(`${mounted}-elsewhere`, mounted);
    assert.equal((await server.files()).length, 1);
    clock.advance(HOUR_MS);
    await job.runOnce();
    assert.deepEqual(await server.files(), []);
  });
});
