import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createDiskStorage } from '@posthorn/core/platform/storage/disk.ts';
import { createGcsStorage } from '@posthorn/core/platform/storage/gcs.ts';
import { createS3Storage } from '@posthorn/core/platform/storage/s3.ts';
import { type Storage, StorageError, StorageMissing } from '@posthorn/core/platform/storage/storage.ts';
import { type GcsServer, startGcsServer } from './gcs-server.ts';
import { type S3Server, settingsOf, startS3Server } from './s3-server.ts';
import { bigJpeg, jpeg } from './samples.ts';
import { storeBytes } from './stored-bytes.ts';
import { startMediaServer } from './support.ts';

let directory: string;
let gcs: GcsServer;
let s3: S3Server;
const storages: Record<string, Storage> = {};
before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'posthorn-storage-'));
  gcs = await startGcsServer('test-bucket');
  storages.disk = await createDiskStorage({ directory: path.join(directory, 'disk') });
  storages.gcs = await createGcsStorage({
    bucket: 'test-bucket',
    spoolDir: path.join(directory, 'gcs'),
    apiEndpoint: gcs.url,
    projectId: 'test',
  });
  s3 = await startS3Server();
  storages.s3 = await createS3Storage({
    bucket: 'test-bucket',
    spoolDir: path.join(directory, 's3'),
    endpoint: s3.url,
    forcePathStyle: true,
    region: s3.account.region,
    credentials: s3.account,
  });
});
after(async () => {
  await Promise.all(Object.values(storages).map((storage) => storage.close()));
  await gcs.close();
  await s3.goAway();
  await rm(directory, { recursive: true, force: true, maxRetries: 10 });
});

async function impatientGcs(t: TestContext): Promise<Storage> {
  const storage = await createGcsStorage({
    bucket: 'test-bucket',
    spoolDir: path.join(directory, 'gcs'),
    apiEndpoint: gcs.url,
    projectId: 'test',
    idleTimeoutMs: 1_500,
  });
  t.after(() => storage.close());
  return storage;
}

for (const name of ['disk', 'gcs', 's3']) {
  describe(`the ${name} storage`, () => {
    test('returns the stored bytes, whole or in any range, large and small', async () => {
      const storage = storages[name]!;
      for (const size of [1, 1000, 300_000, 11 * 1024 * 1024]) {
        const bytes = randomBytes(size);
        const key = `1/${randomUUID()}/ab/${randomUUID()}`;
        await storeBytes(storage, key, bytes);
        assert.ok((await buffer(await storage.open(key))).equals(bytes), `${size} bytes`);
        for (const [start, end] of [
          [0, 0],
          [size - 1, size - 1],
          [Math.floor(size / 3), Math.floor(size / 2)],
          [0, size + 10],
        ] as const) {
          const part = await buffer(await storage.open(key, { start, end }));
          assert.ok(part.equals(bytes.subarray(start, end + 1)), `${start}-${end} of ${size}`);
        }
      }
    });

    test('reports a missing object, and removes one any number of times', async () => {
      const storage = storages[name]!;
      const key = `1/x/${randomUUID()}`;
      await assert.rejects(storage.open(key), StorageMissing);
      await storage.remove(key);
      await storeBytes(storage, key, Buffer.from('here'));
      await storage.remove(key);
      await storage.remove(key);
      await assert.rejects(storage.open(key), StorageMissing);
    });

    test('lets a reader leave in the middle', async () => {
      const storage = storages[name]!;
      const key = `1/x/${randomUUID()}`;
      await storeBytes(storage, key, randomBytes(3_000_000));
      const stream = await storage.open(key);
      for await (const _ of stream) break;
      // A stream over a connection has to end first, and reports that as an error.
      if (!stream.closed) await new Promise((closed) => stream.once('close', closed));
      assert.equal(stream.destroyed, true);
    });
  });
}

describe('the disk storage', () => {
  test('never shows half an object and keeps to its folder', async () => {
    const storage = storages.disk!;
    for (const key of ['../escaped', 'a/../../b', '/etc/passwd', 'a//b', '', '.spool/x', 'a/.', 'a\0b']) {
      await assert.rejects(storeBytes(storage, key, Buffer.from('x')), StorageError, key);
      await assert.rejects(storage.open(key), key);
    }
    assert.deepEqual(await readdir(directory), ['disk', 'gcs', 's3']);
    await assert.rejects(
      storage.put(
        '1/2/gone',
        { path: path.join(directory, 'no such file'), sizeBytes: 1 },
        { mimeType: 'a/b' },
      ),
      StorageError,
    );
    await assert.rejects(storage.open('1/2/gone'), StorageMissing);
  });

  test('keeps no folder of a company without objects, and loses none that comes meanwhile', async () => {
    const storage = storages.disk!;
    const root = path.join(directory, 'disk');
    const keys = ['77/instance/ab/one', '77/instance/cd/two'] as const;
    for (const key of keys) await storeBytes(storage, key, Buffer.from('x'));
    await storage.remove(keys[0]);
    assert.deepEqual(await readdir(path.join(root, '77', 'instance')), ['cd']);
    await storage.remove(keys[1]);
    assert.ok(!(await readdir(root)).includes('77'));
    await Promise.all(
      Array.from({ length: 8 }, async (_, nth) => {
        for (let round = 0; round < 25; round += 1) {
          const key = `77/instance/ab/${nth}-${round}`;
          await storeBytes(storage, key, Buffer.from('y'));
          await storage.remove(key);
        }
      }),
    );
    assert.ok(!(await readdir(root)).includes('77'));
  });
});

describe('the disk storage whose disk is taken away', () => {
  test('misses no object, also where a write under way has left empty folders', async (t) => {
    const root = await mkdtemp(path.join(tmpdir(), 'posthorn-storage-'));
    t.after(() => rm(root, { recursive: true, force: true, maxRetries: 10 }));
    const disk = path.join(root, 'disk');
    const storage = await createDiskStorage({ directory: disk, isInUse: async () => true });
    await mkdir(path.join(disk, 'old'));
    await writeFile(path.join(disk, 'old', 'object'), 'copied from elsewhere');
    await storeBytes(storage, '1/x/ab/one', Buffer.from('x'));
    await rename(disk, path.join(root, 'away'));
    await mkdir(path.join(disk, '1', 'x'), { recursive: true });
    await assert.rejects(storage.open('1/x/ab/one'), (err) => !(err instanceof StorageMissing));
    await rm(disk, { recursive: true });
    await rename(path.join(root, 'away'), disk);
    assert.equal((await buffer(await storage.open('1/x/ab/one'))).toString(), 'x');
  });

  test('misses and removes no object where the disk comes back while it is looked for', async (t) => {
    const root = await mkdtemp(path.join(tmpdir(), 'posthorn-storage-'));
    t.after(() => rm(root, { recursive: true, force: true, maxRetries: 10 }));
    const [disk, away] = [path.join(root, 'disk'), path.join(root, 'away')];
    let isAway = false;
    const storage = await createDiskStorage({
      directory: disk,
      // Asked between the look for the file and the look for the mark.
      async isInUse() {
        if (isAway) {
          await rm(disk, { recursive: true });
          await rename(away, disk);
        }
        return isAway;
      },
    });
    await storeBytes(storage, 'one', Buffer.from('x'));
    isAway = true;
    for (const use of [() => storage.open('one'), () => storage.remove('one')]) {
      await rename(disk, away);
      await mkdir(disk);
      await assert.rejects(use, (err) => err instanceof StorageError && !(err instanceof StorageMissing));
      assert.equal((await buffer(await storage.open('one'))).toString(), 'x');
    }
  });
});

describe('the disk storage of a new installation', () => {
  test('takes the first objects at the same time', async (t) => {
    const root = await mkdtemp(path.join(tmpdir(), 'posthorn-storage-'));
    t.after(() => rm(root, { recursive: true, force: true, maxRetries: 10 }));
    const bothAsk = Promise.withResolvers<void>();
    let asked = 0;
    const storage = await createDiskStorage({
      directory: root,
      async isInUse() {
        asked += 1;
        if (asked === 2) bothAsk.resolve();
        else return bothAsk.promise.then(() => false);
        // The other one is stored before the second answer comes.
        await Promise.race(storing);
        return true;
      },
    });
    const storing = [1, 2].map((nth) => storeBytes(storage, `1/${nth}`, Buffer.from('x')));
    await Promise.all(storing);
    assert.equal(asked, 2);
  });
});

describe('the gcs storage', () => {
  test('sends small files at once and large ones in chunks that can be taken up again', async () => {
    gcs.asked.length = 0;
    await storeBytes(storages.gcs!, `small/${randomUUID()}`, randomBytes(1000));
    assert.deepEqual(gcs.asked, ['POST multipart']);
    gcs.asked.length = 0;
    await storeBytes(storages.gcs!, `large/${randomUUID()}`, randomBytes(9 * 1024 * 1024));
    assert.equal(gcs.asked[0], 'POST resumable-start');
    assert.equal(gcs.asked.filter((each) => each === 'PUT resumable-chunk').length, 3);
  });

  test('repeats a write that failed for a moment, and stores it once', async () => {
    const key = `again/${randomUUID()}`;
    gcs.fail('multipart', 503, 1);
    await storeBytes(storages.gcs!, key, Buffer.from('small'));
    assert.equal(gcs.objects.get(key)!.bytes.toString(), 'small');
    // The answer of a write was lost and the write is repeated: the object exists already.
    await storeBytes(storages.gcs!, key, Buffer.from('small'));
    assert.equal(gcs.objects.get(key)!.bytes.toString(), 'small');
  });

  test('repeats a read that was refused for a moment', async () => {
    const key = `read/${randomUUID()}`;
    await storeBytes(storages.gcs!, key, Buffer.from('small'));
    gcs.fail('media', 503, 2);
    assert.equal((await buffer(await storages.gcs!.open(key))).toString(), 'small');
  });

  // An uncaught error, as the vendor's library threw, would end this process as well.
  for (const status of [403, 429, 500, 503])
    test(`reports a read that is answered with ${status}`, async () => {
      const key = `read/${randomUUID()}`;
      await storeBytes(storages.gcs!, key, Buffer.from('small'));
      gcs.fail('media', status, 10);
      await assert.rejects(storages.gcs!.open(key), StorageError);
      gcs.fail('media', status, 0);
      assert.equal((await buffer(await storages.gcs!.open(key))).toString(), 'small');
    });

  for (const trouble of ['lose', 'stall'] as const)
    test(`a read that breaks in its middle is an error and never a short file: ${trouble}`, async (t) => {
      const storage = await impatientGcs(t);
      const key = `read/${randomUUID()}`;
      await storeBytes(storage, key, randomBytes(3 * 1024 * 1024));
      for (const range of [undefined, { start: 10, end: 2 * 1024 * 1024 }]) {
        gcs.trouble(trouble);
        const stream = await storage.open(key, range);
        await assert.rejects(buffer(stream));
        gcs.trouble(trouble);
        const late = await storage.open(key, range);
        // It breaks before anybody reads it.
        await delay(100);
        await assert.rejects(buffer(late));
        gcs.trouble(trouble);
        // Nobody reads it at all.
        (await storage.open(key, range)).destroy();
      }
    });

  test('gives up a read that gets no answer', async (t) => {
    const storage = await impatientGcs(t);
    const key = `read/${randomUUID()}`;
    await storeBytes(storage, key, Buffer.from('small'));
    gcs.trouble('silence');
    await assert.rejects(storage.open(key), StorageError);
  });

  test('reports a refusal', async () => {
    const key = `refused/${randomUUID()}`;
    gcs.fail('multipart', 403, 1);
    await assert.rejects(storeBytes(storages.gcs!, key, Buffer.from('x')), StorageError);
    gcs.fail('media', 403, 1);
    await storeBytes(storages.gcs!, key, Buffer.from('x'));
    await assert.rejects(storages.gcs!.open(key), StorageError);
    gcs.fail('delete', 403, 1);
    await assert.rejects(storages.gcs!.remove(key), StorageError);
  });

  test('takes no object for missing or removed while its bucket is not there', async (t) => {
    const key = `bucket/${randomUUID()}`;
    await storeBytes(storages.gcs!, key, Buffer.from('x'));
    gcs.hasBucket(false);
    t.after(() => gcs.hasBucket(true));
    await assert.rejects(storages.gcs!.open(key), StorageError);
    await assert.rejects(storages.gcs!.remove(key), StorageError);
    await assert.rejects(storeBytes(storages.gcs!, `bucket/${randomUUID()}`, Buffer.from('x')), StorageError);
    gcs.hasBucket(true);
    assert.equal((await buffer(await storages.gcs!.open(key))).toString(), 'x');
    // Without the right to list objects, the answer about the object counts.
    gcs.fail('list', 403, 1);
    await assert.rejects(storages.gcs!.open(`bucket/${randomUUID()}`), StorageMissing);
  });
});

interface Bucket {
  /** The settings for this storage. */
  env(): Record<string, string>;
  objects(): Map<string, { contentType?: string | undefined }>;
  /** The next small file is refused. */
  refuseNext(): void;
}

const buckets: Record<string, Bucket> = {
  gcs: {
    env: () => ({ GCS_BUCKET: 'test-bucket', GCS_API_ENDPOINT: gcs.url, GCS_PROJECT_ID: 'test' }),
    objects: () => gcs.objects,
    refuseNext: () => gcs.fail('multipart', 403, 1),
  },
  s3: {
    env: () => settingsOf(s3),
    objects: () => s3.objects,
    refuseNext: () => s3.trouble('put', 403),
  },
};

for (const [name, bucket] of Object.entries(buckets)) {
  test(`the whole API works on the ${name} storage when its bucket is named`, async () => {
    const media = await startMediaServer(bucket.env());
    try {
      assert.equal(media.media.storage!.name, name);
      for (const bytes of [await jpeg(), bigJpeg(20_000_000)]) {
        const { status, body } = await media.upload(bytes, { name: 'a.jpg' });
        assert.equal(status, 201);
        const list = await media.call('GET', `${media.base}/media?limit=1`, { key: media.company.apiKey });
        const stored = bucket.objects().get(list.body.data[0].s3_key)!;
        assert.equal(stored.contentType, 'image/jpeg');
        const url = `${media.url}${media.base}/media/${body.media_id}`;
        const headers = { 'x-api-key': media.company.apiKey };
        const whole = await fetch(url, { headers });
        assert.ok(Buffer.from(await whole.arrayBuffer()).equals(bytes));
        const part = await fetch(url, { headers: { ...headers, range: 'bytes=5-14' } });
        assert.equal(part.status, 206);
        assert.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(5, 15)));
      }
      bucket.refuseNext();
      const failed = await media.upload(await jpeg({ width: 99 }));
      assert.deepEqual(
        [failed.status, failed.body.error_code, failed.body.message],
        [500, 'INTERNAL_SERVER_ERROR', 'upload failed'],
      );
      assert.deepEqual(await media.files(), [], 'nothing is left on the disk of the server');
    } finally {
      await media.close();
    }
  });
}
