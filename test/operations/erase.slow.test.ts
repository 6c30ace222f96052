import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { companiesToPurge, purgeCompany } from '@posthorn/core/accounts/company/purge-company.ts';
import { EXPORTED_EVENTS } from '@posthorn/core/billing/provider-events/company-events.ts';
import { purgeCompanies } from '@posthorn/core/billing/purge-companies.ts';
import { saveMedia } from '@posthorn/core/media/save-media.ts';
import { eraseCompany } from '@posthorn/core/operations/erase-company.ts';
import { exportCompany, storedObjects } from '@posthorn/core/operations/export-company.ts';
import { rowsLeft, tenantTables } from '@posthorn/core/operations/tenant-tables.ts';
import type { Storage } from '@posthorn/core/platform/storage/storage.ts';
import { waitFor } from '@posthorn/test/support/process.ts';
import { seedCompany, seedInstance } from '@posthorn/test/support/seed.ts';
import { type Sending, startSending, type TestInstance } from '@posthorn/test/support/sending.ts';
import { png } from '../media/samples.ts';

/** Workers compare their sessions with the existing instances at least this often. */
const COMPARED_MS = 6_000;

describe('the data of one company', () => {
  let sending: Sending;
  let instance: TestInstance;
  let picture: Buffer;
  const work = mkdtempSync(path.join(tmpdir(), 'posthorn-export-'));
  before(async () => {
    sending = await startSending();
    instance = await sending.connect();
    await sending.send(instance, '/messages/text', { to: sending.newPhone(), text: 'to be exported' });
    picture = await png();
    const image = picture.toString('base64');
    await sending.send(instance, '/messages/image', { to: sending.newPhone(), media_base64: image });
    await waitFor(async () => {
      const { rows } = await sending.api.parts.db.query<{ count: number }>(
        `SELECT count(*) AS count FROM events WHERE type = 'message.read'`,
      );
      return rows[0]!.count === 2;
    }, 60_000);
    await seedBilling(sending.company.companyId);
  });
  after(async () => {
    await sending.close();
    rmSync(work, { recursive: true, force: true });
  });

  async function seedBilling(companyId: number): Promise<void> {
    const { db } = sending.api.parts;
    await db.query('INSERT INTO billing.accounts (company_id) VALUES ($1)', [companyId]);
    await db.query(
      `INSERT INTO billing.profiles (company_id, document_type, document_number, legal_name, asaas_customer_id, created_at, updated_at)
       VALUES ($1, 'cpf', $2, 'Somebody', $3, now(), now())`,
      [companyId, `document ${companyId}`, `cus_${companyId}`],
    );
    await db.query(
      `INSERT INTO billing.cards (company_id, token, brand, last4, exp_month, exp_year, is_default, created_at)
       VALUES ($1, 'sealed', 'visa', '4242', 1, 2030, true, now())`,
      [companyId],
    );
    await db.query(
      `INSERT INTO billing.provider_events (provider_event_id, event, payload, event_at, received_at)
       VALUES ($1, 'PAYMENT_RECEIVED', $2, now(), now())`,
      [`evt_${companyId}`, { payment: { id: 'pay_1', customer: `cus_${companyId}` } }],
    );
  }

  const deps = () => ({
    ...{ db: sending.api.parts.db, storage: sending.api.media.storage, now: new Date() },
    others: [EXPORTED_EVENTS],
  });

  it('is exported whole: each row of each table, and each object of the storage', async () => {
    const { companyId } = sending.company;
    const into = path.join(work, 'export');
    const manifest = await exportCompany(deps(), { companyId, into });
    assert.deepEqual(JSON.parse(readFileSync(path.join(into, 'manifest.json'), 'utf8')), manifest);
    // Counts of the current minute are not kept.
    const { rate_windows: _, ...left } = await rowsLeft(sending.api.parts.db, companyId);
    assert.deepEqual(
      Object.fromEntries(
        manifest.files.filter(({ rows }) => rows).map(({ path: name, rows }) => [name, rows]),
      ),
      {
        ...Object.fromEntries(Object.entries(left).map(([table, rows]) => [`${table}.ndjson`, rows])),
        'billing.provider_events.ndjson': 1,
      },
    );
    for (const table of ['companies', 'users', 'messages', 'events', 'media', 'billing.cards'])
      assert.ok(left[table], table);
    for (const { path: name, sha256, rows } of manifest.files) {
      const bytes = readFileSync(path.join(into, name));
      assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256, name);
      if (rows !== undefined)
        assert.equal(
          bytes
            .toString()
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line)).length,
          rows,
        );
    }
    assert.match(readFileSync(path.join(into, 'messages.ndjson'), 'utf8'), /to be exported/);
    const media = readdirSync(path.join(into, 'media'));
    assert.equal(media.length, (await storedObjects(sending.api.parts.db, companyId)).length);
    assert.ok(media.some((name) => readFileSync(path.join(into, 'media', name)).equals(picture)));
  });

  it('is exported without secrets, and without rows of others', async () => {
    const { db } = sending.api.parts;
    const other = await seedCompany(db);
    await seedInstance(db, other.companyId, { state: 'CONNECTED', wanted: 'connected' });
    const passwordHash = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA';
    await db.query('UPDATE users SET password_hash = $2 WHERE id = $1', [other.userId, passwordHash]);
    const into = path.join(work, 'other');
    await exportCompany(deps(), { companyId: other.companyId, into });
    for (const file of readdirSync(into)) {
      const text = readFileSync(path.join(into, file), 'utf8');
      assert.doesNotMatch(text, /to be exported|Somebody|argon2|\\\\x/, file);
      for (const line of file.endsWith('.ndjson') ? text.trimEnd().split('\n') : [])
        assert.equal(JSON.parse(line).company_id ?? other.companyId, other.companyId, file);
    }
    assert.ok(!readdirSync(into).includes('billing.provider_events.ndjson'));
    const tokens = readFileSync(path.join(into, 'api_tokens.ndjson'), 'utf8');
    assert.equal(JSON.parse(tokens).key_hash, undefined);
  });

  it('is not exported over an existing file, or for an unknown company', async () => {
    await assert.rejects(
      exportCompany(deps(), { companyId: 1, into: path.join(work, 'export') }),
      /is not empty/,
    );
    await assert.rejects(
      exportCompany(deps(), { companyId: 999_999, into: path.join(work, 'nobody') }),
      /there is no company 999999/,
    );
  });

  it('is erased while it sends and while others send, and nothing of it is left in any table or in the storage', async () => {
    const { db, log } = sending.api.parts;
    const { companyId } = sending.company;
    const other = await seedCompany(db);
    await seedBilling(other.companyId);
    const others = await seedInstance(db, other.companyId, { state: 'CREATED', wanted: 'connected' });
    sending.api.parts.bus.notify('instance', others);
    await waitFor(async () => {
      const { rows } = await db.query<{ state: string }>('SELECT state FROM instances WHERE id = $1', [
        others,
      ]);
      return rows[0]?.state === 'CONNECTED';
    }, 60_000);
    const keys = (await storedObjects(db, companyId)).map(({ key }) => key);
    assert.ok(keys.length > 0);
    const statuses = { own: new Set<number>(), others: new Set<number>() };
    let accepted = 0;
    let isOver = false;
    const send = async (who: 'own' | 'others', key: string, instanceId: string) => {
      while (!isOver) {
        const answer = await sending.api.call('POST', `/v1/instances/${instanceId}/messages/text`, {
          key,
          headers: { 'idempotency-key': randomUUID() },
          body: { to: `55319${who === 'own' ? 1 : 2}0000001`, text: `load ${randomUUID()}` },
        });
        statuses[who].add(answer.status);
        if (who === 'others' && answer.status === 202) accepted += 1;
        await delay(5);
      }
    };
    await db.query(
      `UPDATE instances SET settings = settings || '{"anti_spam_guard_enabled": false, "humanize_enabled": false}' WHERE id = $1`,
      [others],
    );
    const load = Promise.all([
      send('own', sending.company.apiKey, instance.id),
      send('others', other.apiKey, others),
    ]);
    await waitFor(() => accepted > 0 && statuses.own.has(202));
    const done = await eraseCompany(
      { ...deps(), billing: null, purgeBilling: () => purgeCompanies({ db }), log },
      companyId,
    );
    isOver = true;
    await load;
    assert.deepEqual(done.rowsLeft, {});
    assert.deepEqual(done.objectsLeft, []);
    assert.equal(done.objects, keys.length);

    // Checked again, by other means than those of the erasure.
    for (const { name, companyColumn } of await tenantTables(db)) {
      const { rows } = await db.query<{ count: number }>(
        `SELECT count(*) AS count FROM ${name} WHERE ${companyColumn} = $1`,
        [companyId],
      );
      assert.equal(rows[0]!.count, 0, name);
    }
    for (const key of keys)
      await assert.rejects(sending.api.media.storage!.open(key), { name: 'StorageMissing' });
    const { rows: trash } = await db.query('SELECT FROM media_trash WHERE storage_key = ANY ($1)', [keys]);
    assert.equal(trash.length, 0);
    // Only requests of the erased company are refused.
    assert.ok(
      [...statuses.own].every((status) => status === 202 || (status >= 400 && status < 500)),
      `${[...statuses.own]}`,
    );
    assert.deepEqual([...statuses.others], [202]);
    const { rows: kept } = await db.query<{ count: number }>(
      'SELECT count(*) AS count FROM messages WHERE company_id = $1',
      [other.companyId],
    );
    assert.equal(kept[0]!.count, accepted);
    assert.ok((await rowsLeft(db, other.companyId))['billing.cards']);
    const { rows: events } = await db.query<{ id: string }>(
      'SELECT provider_event_id AS id FROM billing.provider_events',
    );
    assert.deepEqual(events, [{ id: `evt_${other.companyId}` }]);
  });

  /** A company with one stored file, and the key of that file. */
  async function storeFile(): Promise<{ companyId: number; key: string }> {
    const { db } = sending.api.parts;
    const { companyId } = await seedCompany(db);
    const instanceId = await seedInstance(db, companyId, { state: 'CREATED' });
    const saved = await saveFile(companyId, instanceId);
    const { rows } = await db.query<{ key: string }>('SELECT storage_key AS key FROM media WHERE id = $1', [
      saved,
    ]);
    return { companyId, key: rows[0]!.key };
  }

  async function saveFile(
    companyId: number,
    instanceId: string,
    storage = sending.api.media.storage!,
  ): Promise<string> {
    const { media } = sending.api;
    const file = await media.spool.write(Readable.from([Buffer.from('a file')]));
    const saved = await saveMedia(
      { ...media, storage },
      {
        scope: { companyId, instanceId },
        origin: 'uploads',
        file,
        declaredType: 'text/plain',
        fileName: 'a.txt',
        takes: () => true,
      },
    );
    return saved.mediaId;
  }

  const eraseAgain = (companyId: number, storage: Storage | null = sending.api.media.storage) => {
    const { db, log } = sending.api.parts;
    return eraseCompany(
      { ...deps(), storage, billing: null, purgeBilling: () => purgeCompanies({ db }), log, sessionsMs: 0 },
      companyId,
    );
  };

  it('is exported without rows that are deleted meanwhile, which are not reported as missing', async () => {
    const { db } = sending.api.parts;
    const [kept, gone] = [await storeFile(), await storeFile()];
    const storage = sending.api.media.storage!;
    const without = async (companyId: number, name: string, meanwhile: () => Promise<unknown>) =>
      exportCompany(
        {
          ...deps(),
          storage: {
            ...storage,
            async open(key) {
              await storage.remove(key);
              await meanwhile();
              return storage.open(key);
            },
          },
        },
        { companyId, into: path.join(work, name) },
      );
    const lost = await without(kept.companyId, 'lost', async () => undefined);
    assert.deepEqual([lost.missingMedia.length, lost.removedMedia.length], [1, 0]);
    const deleted = await without(gone.companyId, 'deleted', () =>
      db.query('DELETE FROM media WHERE company_id = $1', [gone.companyId]),
    );
    assert.deepEqual([deleted.missingMedia.length, deleted.removedMedia.length], [0, 1]);
  });

  it('is exported and erased with its archives of messages', async () => {
    const { db } = sending.api.parts;
    const { storage, spool } = sending.api.media;
    const { companyId } = await storeFile();
    const id = randomUUID();
    const key = `${companyId}/archive/${randomUUID()}/${id}`;
    const file = await spool.write(Readable.from([Buffer.from('lines')]));
    await storage!.put(key, file, { mimeType: 'application/gzip' });
    await db.query(
      `INSERT INTO message_archives (id, company_id, instance_id, first_at, last_at, messages, size_bytes, storage_key, created_at)
       VALUES ($1, $2, gen_random_uuid(), now(), now(), 1, 5, $3, now())`,
      [id, companyId, key],
    );
    const into = path.join(work, 'archives');
    const manifest = await exportCompany({ db, storage, now: new Date(), others: [] }, { companyId, into });
    assert.deepEqual(manifest.missingMedia, []);
    assert.equal(readFileSync(path.join(into, 'media', `${id}.ndjson.gz`), 'utf8'), 'lines');
    const done = await eraseAgain(companyId);
    assert.deepEqual([done.objects, done.rowsLeft, done.objectsLeft], [2, {}, []]);
    await assert.rejects(storage!.open(key), { name: 'StorageMissing' });
  });

  it('is erased by the next erasure after an interrupted one, with its files, whatever is gone already', async () => {
    const { db } = sending.api.parts;
    const storage = sending.api.media.storage!;
    const [half, whole] = [await storeFile(), await storeFile()];
    await db.query('DELETE FROM media WHERE company_id = $1', [half.companyId]);
    await db.query(`UPDATE companies SET status = 'deleted' WHERE id = $1`, [whole.companyId]);
    await purgeCompany({ db }, whole.companyId);
    for (const { companyId, key } of [half, whole]) {
      const done = await eraseAgain(companyId);
      assert.deepEqual([done.objects, done.rowsLeft, done.objectsLeft, done.uploads], [1, {}, [], 0]);
      await assert.rejects(storage.open(key), { name: 'StorageMissing' });
      await assert.rejects(eraseAgain(companyId), /there is no company/);
    }
  });

  it('is not told erased, however often, while the settings do not name the storage that has its files', async () => {
    const { companyId, key } = await storeFile();
    for (const _ of ['first', 'again'])
      assert.deepEqual((await eraseAgain(companyId, null)).objectsLeft, [key]);
    const done = await eraseAgain(companyId);
    assert.deepEqual([done.objects, done.objectsLeft], [1, []]);
  });

  it('is purged by the workers when its erasure is interrupted', async () => {
    const { db } = sending.api.parts;
    const { companyId } = await storeFile();
    const billing = { cancelSubscriptions: () => Promise.resolve(0) };
    const failing = eraseCompany(
      {
        ...deps(),
        billing,
        purgeBilling: () => Promise.reject(new Error('the power is cut')),
        log: sending.api.parts.log,
        sessionsMs: 0,
        db: {
          ...db,
          query: ((...args: Parameters<typeof db.query>) =>
            /^DELETE FROM media /.test(String(args[0]))
              ? Promise.reject(new Error('the power is cut'))
              : db.query(...args)) as typeof db.query,
        },
      },
      companyId,
    );
    await assert.rejects(failing, /the power is cut/);
    assert.ok((await companiesToPurge({ db }, new Date())).includes(companyId));
  });

  it('is erased by two erasures at once that do not wait for its sessions, and later writes to it are not kept', async () => {
    const { db } = sending.api.parts;
    const { companyId } = await seedCompany(db);
    const ids = await Promise.all(
      [1, 2, 3, 4].map(() => seedInstance(db, companyId, { state: 'CREATED', wanted: 'connected' })),
    );
    for (const id of ids) sending.api.parts.bus.notify('instance', id);
    const instances = await waitFor(async () => {
      const { rows } = await db.query<{ phone: string }>(
        `SELECT phone FROM instances WHERE company_id = $1 AND state = 'CONNECTED'`,
        [companyId],
      );
      return rows.length === ids.length && rows;
    }, 60_000);
    const write = (name: string) =>
      Promise.all(
        instances.map(({ phone }, nth) =>
          sending.sandbox.post(`/phones/553197700000${nth}/messages`, { to: phone, text: name }),
        ),
      );
    await write('before');
    await waitFor(async () => (await rowsLeft(db, companyId)).messages === ids.length);
    // Deleted without a notification to the workers: the sessions live on while their rows are removed.
    await db.query(`UPDATE companies SET status = 'deleted' WHERE id = $1`, [companyId]);
    const done = await Promise.all([eraseAgain(companyId), eraseAgain(companyId)]);
    assert.deepEqual(
      done.map(({ rowsLeft: left }) => left),
      [{}, {}],
    );
    await write('after').catch(() => undefined);
    await delay(COMPARED_MS);
    assert.deepEqual(await rowsLeft(db, companyId), {});
  });

  it('is erased although an upload does not end: the erasure says so, and a note stays for the clean-up job', async () => {
    const { db } = sending.api.parts;
    const { companyId } = await storeFile();
    const ahead = `${companyId}/an-upload`;
    await db.query(`INSERT INTO media_trash (storage_key, due_at) VALUES ($1, now() + interval '1 day')`, [
      ahead,
    ]);
    const done = await eraseAgain(companyId);
    assert.deepEqual([done.rowsLeft, done.objectsLeft, done.uploads], [{}, [], 1]);
    const { rowCount } = await db.query('DELETE FROM media_trash WHERE storage_key = $1', [ahead]);
    assert.equal(rowCount, 1);
  });

  it('has nothing written to the storage by an upload that ends after the erasure', async () => {
    const { db } = sending.api.parts;
    const { companyId } = await seedCompany(db);
    const instanceId = await seedInstance(db, companyId, { state: 'CREATED' });
    await eraseAgain(companyId);
    const written: string[] = [];
    const storage = sending.api.media.storage!;
    const put: typeof storage.put = (key, ...rest) => {
      written.push(key);
      return storage.put(key, ...rest);
    };
    await assert.rejects(saveFile(companyId, instanceId, { ...storage, put }), {
      message: 'instance not found',
    });
    assert.deepEqual(written, []);
    const { rowCount } = await db.query('SELECT FROM media_trash WHERE starts_with(storage_key, $1)', [
      `${companyId}/`,
    ]);
    assert.equal(rowCount, 0);
  });

  it('is not erased for the platform’s own company, or twice', async () => {
    const { db, log } = sending.api.parts;
    const erase = (companyId: number) =>
      eraseCompany({ ...deps(), billing: null, purgeBilling: () => purgeCompanies({ db }), log }, companyId);
    await assert.rejects(erase(1), /company 1 is the platform/);
    await assert.rejects(erase(sending.company.companyId), /there is no company/);
  });
});
