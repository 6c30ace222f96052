import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import dns from 'node:dns';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createS3Storage } from '@posthorn/core/platform/storage/s3.ts';
import { type Storage, StorageError, StorageMissing } from '@posthorn/core/platform/storage/storage.ts';
import { type S3Server, startS3Server } from './s3-server.ts';
import { storeBytes } from './stored-bytes.ts';

const MIB = 1024 * 1024;
/** A busy machine lets a connection wait for seconds. */
const IDLE_TIMEOUT_MS = 20_000;

let directory: string;
let s3: S3Server;
let storage: Storage;
/** Takes half a second of silence for the end of a connection. */
let hasty: Storage;
const opened: Storage[] = [];

type Options = Partial<Parameters<typeof createS3Storage>[0]>;

async function connect(options: Options = {}): Promise<Storage> {
  const made = await createS3Storage({
    bucket: 'test-bucket',
    spoolDir: directory,
    endpoint: s3.url,
    forcePathStyle: true,
    region: s3.account.region,
    credentials: s3.account,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    ...options,
  });
  opened.push(made);
  return made;
}

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'posthorn-s3-'));
  s3 = await startS3Server();
  storage = await connect();
  hasty = await connect({ idleTimeoutMs: 1_500 });
});
beforeEach(() => {
  s3.asked.length = 0;
  s3.uploads.clear();
});
after(async () => {
  await Promise.all(opened.map((each) => each.close()));
  await s3.goAway();
  await rm(directory, { recursive: true, force: true, maxRetries: 10 });
});

const newKey = () => `1/x/${randomUUID()}`;

describe('the s3 storage', () => {
  test('sends small files at once and large ones in parts', async () => {
    await storeBytes(storage, newKey(), randomBytes(5 * MIB));
    // A busy machine may let the client try again.
    assert.deepEqual([...new Set(s3.asked)], ['PUT put']);
    s3.asked.length = 0;
    const [key, bytes] = [newKey(), randomBytes(11 * MIB)];
    await storeBytes(storage, key, bytes);
    assert.deepEqual(s3.asked, ['POST create', 'PUT part', 'PUT part', 'PUT part', 'POST complete']);
    assert.ok(s3.objects.get(key)!.bytes.equals(bytes));
    assert.equal(s3.objects.get(key)!.contentType, 'image/jpeg');
    assert.equal(s3.uploads.size, 0);
  });

  test('asks for the encryption that is set, of small files and large ones', async () => {
    const encrypting = await connect({ serverSideEncryption: 'aws:kms' });
    for (const size of [1000, 6 * MIB]) {
      const key = newKey();
      await storeBytes(encrypting, key, randomBytes(size));
      assert.equal(s3.objects.get(key)!.encryption, 'aws:kms');
      await storeBytes(storage, key, randomBytes(size));
      assert.equal(s3.objects.get(key)!.encryption, undefined);
    }
  });

  test('takes keys with any characters', async () => {
    const odd = [
      'a b',
      'a+b',
      'ä/ü',
      '100%',
      'a%2Fb',
      'what?',
      'a#b',
      "(it's)*!",
      'a&b=c',
      '日本',
      'a//b',
      './../c',
      '~',
      '\\',
    ];
    for (const key of odd) {
      await storeBytes(storage, key, Buffer.from(key));
      assert.equal(s3.objects.get(key)?.bytes.toString(), key);
      assert.equal((await buffer(await storage.open(key))).toString(), key);
      await storage.remove(key);
      assert.ok(!s3.objects.has(key), key);
    }
    // Without a key the address would be that of the bucket.
    s3.asked.length = 0;
    await assert.rejects(storage.remove(''), StorageError);
    await assert.rejects(storage.open(''), StorageError);
    await assert.rejects(storeBytes(storage, '', Buffer.from('x')), StorageError);
    assert.deepEqual(s3.asked, []);
  });

  test('finds its credentials as the SDK does when none are given', async (t) => {
    t.after(() => {
      delete process.env.AWS_ACCESS_KEY_ID;
      delete process.env.AWS_SECRET_ACCESS_KEY;
    });
    process.env.AWS_ACCESS_KEY_ID = s3.account.accessKeyId;
    process.env.AWS_SECRET_ACCESS_KEY = s3.account.secretAccessKey;
    const key = newKey();
    await storeBytes(await connect({ credentials: undefined }), key, Buffer.from('x'));
    assert.ok(s3.objects.has(key));
  });

  test('names the bucket in the host when that is not forced into the path', async (t) => {
    const { lookup } = dns;
    // Only this mock resolves the bucket's name to this machine.
    t.mock.method(dns, 'lookup', (host: string, options: dns.LookupOptions, found: () => void) =>
      lookup(host === 'test-bucket.s3.test' ? '127.0.0.1' : host, options, found),
    );
    const { port } = new URL(s3.url);
    const inHost = await connect({ endpoint: `http://s3.test:${port}`, forcePathStyle: false });
    const key = newKey();
    await storeBytes(inHost, key, Buffer.from('x'));
    assert.ok(s3.hosts.has(`test-bucket.s3.test:${port}`));
    assert.ok(s3.objects.has(key));
    assert.equal((await buffer(await inHost.open(key))).toString(), 'x');
  });
});

describe('the s3 storage, when a request fails for a moment,', () => {
  for (const trouble of [503, 'cut', 'lose', 'freeze'] as const) {
    test(`tries it again, and stores it once: ${trouble}`, async () => {
      for (const [kind, size] of [
        ['put', MIB],
        ['create', 6 * MIB],
        ['part', 6 * MIB],
        ['complete', 6 * MIB],
      ] as const) {
        const [key, bytes] = [newKey(), randomBytes(size)];
        s3.trouble(kind, trouble);
        await storeBytes(hasty, key, bytes);
        assert.ok(s3.objects.get(key)!.bytes.equals(bytes), kind);
      }
    });
  }

  test('takes no answer for a success when an error follows its status', async () => {
    const key = newKey();
    s3.trouble('complete', 'late error');
    await storeBytes(storage, key, randomBytes(6 * MIB));
    assert.ok(s3.objects.has(key));
    s3.trouble('complete', 'late error', 10);
    await assert.rejects(storeBytes(storage, newKey(), randomBytes(6 * MIB)), StorageError);
    s3.trouble('complete', 'late error', 0);
    assert.equal(s3.uploads.size, 0);
  });

  test('leaves nothing of an upload that fails in its middle', async () => {
    for (const [kind, trouble] of [
      ['part', 403],
      ['part', 'freeze'],
      ['part', 'cut'],
      ['complete', 403],
    ] as const) {
      const key = newKey();
      s3.trouble(kind, trouble, 10);
      // The first try of the clean-up fails as well.
      s3.trouble('abort', 503);
      await assert.rejects(storeBytes(hasty, key, randomBytes(6 * MIB)), StorageError);
      s3.trouble(kind, trouble, 0);
      assert.equal(s3.uploads.size, 0, `${kind} ${trouble}`);
      assert.ok(!s3.objects.has(key));
    }
  });
});

describe('the s3 storage, against an account or a bucket that is wrong,', () => {
  async function refuses(made: Storage, cause: string): Promise<void> {
    const key = newKey();
    const attempts = [
      () => storeBytes(made, key, Buffer.from('x')),
      () => made.open(key),
      () => made.remove(key),
    ];
    for (const attempt of attempts)
      await assert.rejects(attempt, (err: StorageError) => {
        assert.equal(err.name, 'StorageError');
        assert.equal((err.cause as Error).name, cause);
        return true;
      });
  }

  test('reports a refusal, and not a missing object', async () => {
    const secretAccessKey = 'another';
    await refuses(
      await connect({ credentials: { ...s3.account, secretAccessKey } }),
      'SignatureDoesNotMatch',
    );
    const accessKeyId = 'OTHER';
    await refuses(await connect({ credentials: { ...s3.account, accessKeyId } }), 'InvalidAccessKeyId');
    await refuses(await connect({ bucket: 'no-such-bucket' }), 'NoSuchBucket');
    s3.trouble('get', 403, 1);
    await assert.rejects(storage.open(newKey()), StorageError);
  });

  test('reports the region of the bucket', async () => {
    const elsewhere = await connect({ region: 'us-east-1' });
    await assert.rejects(storeBytes(elsewhere, newKey(), Buffer.from('x')), {
      name: 'StorageError',
      message: 'the object could not be stored: the bucket is in eu-test-1 (S3_REGION)',
    });
  });

  test('works on where the clock of one side is wrong', async (t) => {
    t.after(() => {
      s3.skewMs = 0;
    });
    for (const skewMs of [3_600_000, -3_600_000]) {
      s3.skewMs = skewMs;
      const skewed = await connect();
      for (const size of [1000, 6 * MIB]) {
        const [key, bytes] = [newKey(), randomBytes(size)];
        await storeBytes(skewed, key, bytes);
        assert.ok((await buffer(await skewed.open(key))).equals(bytes));
      }
    }
  });
});

describe('the s3 storage, while its server is away,', () => {
  test('fails, and works again when the server is back', async () => {
    const [key, bytes] = [newKey(), randomBytes(6 * MIB)];
    await storeBytes(storage, key, bytes);
    await s3.goAway();
    try {
      await assert.rejects(storeBytes(storage, newKey(), bytes), StorageError);
      await assert.rejects(storage.open(key), StorageError);
      await assert.rejects(storage.remove(key), StorageError);
    } finally {
      await s3.comeBack();
    }
    assert.ok((await buffer(await storage.open(key))).equals(bytes));
    await storage.remove(key);
    await assert.rejects(storage.open(key), StorageMissing);
  });

  test('fails as well when the server takes connections and answers nothing', async () => {
    const key = newKey();
    await storeBytes(storage, key, Buffer.from('x'));
    for (const kind of ['put', 'get', 'delete'] as const) s3.trouble(kind, 'freeze', 3);
    await assert.rejects(storeBytes(hasty, newKey(), Buffer.from('x')), StorageError);
    await assert.rejects(hasty.open(key), StorageError);
    await assert.rejects(hasty.remove(key), StorageError);
    await storeBytes(storage, key, Buffer.from('y'));
    assert.equal((await buffer(await storage.open(key))).toString(), 'y');
  });
});

describe('a download of the s3 storage', () => {
  for (const trouble of ['lose', 'stall'] as const) {
    test(`that breaks in its middle is an error and never a short file: ${trouble}`, async () => {
      const key = newKey();
      await storeBytes(storage, key, randomBytes(3 * MIB));
      for (const range of [undefined, { start: 10, end: 2 * MIB }]) {
        s3.trouble('get', trouble);
        const stream = await hasty.open(key, range);
        await assert.rejects(buffer(stream));
      }
    });
  }

  test('begins beyond no end of an object', async () => {
    const key = newKey();
    await storeBytes(storage, key, Buffer.from('ten bytes!'));
    await assert.rejects(storage.open(key, { start: 10, end: 12 }), StorageError);
  });

  test('delays nothing else, however many hang', async () => {
    const key = newKey();
    await storeBytes(storage, key, randomBytes(4 * MIB));
    const patient = await connect({ idleTimeoutMs: 60_000 });
    const readers = await Promise.all(Array.from({ length: 60 }, () => patient.open(key)));
    await storeBytes(patient, newKey(), randomBytes(1000));
    for (const reader of readers) reader.destroy();
  });
});
