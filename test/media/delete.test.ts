import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { MediaUnusable } from '@posthorn/core/media/media-port.ts';
import { createMediaRetentionJob } from '@posthorn/worker/media/media-retention-job.ts';
import { openWorkerMedia } from '@posthorn/worker/media/open-worker-media.ts';
import { withRole } from '../server/seed-ids.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { bigJpeg, gif, jpeg } from './samples.ts';
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
  await media.parts.db.query('UPDATE companies SET storage_mb = 4 WHERE id = $1', [company.companyId]);
});

const base = () => `/v1/instances/${instanceId}`;
const call = (method: string, path: string, body?: object, key = company.apiKey) =>
  media.call(method, `${base()}${path}`, {
    key,
    headers: { 'idempotency-key': randomUUID() },
    ...(body ? { body } : {}),
  });
const remove = (mediaId: string, key?: string) => call('DELETE', `/media/${mediaId}`, undefined, key);
const upload = (bytes: Buffer) => media.upload(bytes, { key: company.apiKey, path: `${base()}/media` });

async function stored(bytes: Buffer): Promise<string> {
  const { status, body } = await upload(bytes);
  assert.equal(status, 201, JSON.stringify(body));
  return body.media_id;
}

async function used(): Promise<number> {
  const { rows } = await media.parts.db.query<{ used_bytes: number }>(
    'SELECT used_bytes FROM media_usage WHERE company_id = $1',
    [company.companyId],
  );
  return rows[0]!.used_bytes;
}

/** The objects of the company after a round of the retention job. */
async function files(): Promise<string[]> {
  await createMediaRetentionJob({ ...media.parts, media: media.media }).runOnce();
  return (await media.files()).filter((name) => name.startsWith(`${company.companyId}/`));
}

describe('DELETE /media/{media_id}', () => {
  test('204: a full storage has room again at once, and the bytes leave it', async () => {
    const first = await stored(bigJpeg(3 * MB));
    assert.equal((await upload(bigJpeg(2 * MB))).status, 403);
    assert.equal((await remove(first)).status, 204);
    assert.equal(await used(), 0);
    const second = await stored(bigJpeg(4 * MB));
    for (const path of [`/media/${first}`, `/media/${first}/info`])
      assert.equal((await call('GET', path)).status, 404);
    const list = await call('GET', '/media');
    assert.deepEqual([list.body.total, list.body.data[0].id], [1, second]);
    assert.equal((await files()).length, 1);
  });

  test('204: conversions go with it, and other media with the same bytes keeps its own', async () => {
    const { preparer } = await openWorkerMedia({
      config: media.config,
      media: media.media,
      log: media.parts.log,
    });
    const scope = { companyId: company.companyId, instanceId };
    const bytes = await gif();
    const base64 = async () =>
      (await media.media.sources.fromBase64(scope, bytes.toString('base64'), 'gif')).mediaId;
    const [mine, twin] = [await base64(), await stored(bytes)];
    assert.notEqual(mine, twin);
    const prepare = (mediaId: string) =>
      preparer.prepare(scope, { mediaId, type: 'gif', voice: false }, AbortSignal.timeout(60_000));
    await prepare(mine);
    assert.equal((await files()).length, 3);
    assert.equal((await remove(mine)).status, 204);
    assert.equal((await files()).length, 1);
    assert.equal(await used(), bytes.length);
    const kept = await fetch(`${media.url}${base()}/media/${twin}`, {
      headers: { 'x-api-key': company.apiKey },
    });
    assert.deepEqual(Buffer.from(await kept.arrayBuffer()), bytes);
    // A send that was accepted at that moment does not find it, and says so.
    await assert.rejects(
      prepare(mine),
      (err) => err instanceof MediaUnusable && err.reason === 'media_not_found',
    );
    assert.notEqual(await base64(), mine, 'the same bytes can be stored again');
  });

  test('409 CONFLICT while a queued or scheduled send waits for it, and 204 after that', async () => {
    const queued = await stored(await jpeg({ width: 71 }));
    const scheduled = await stored(await jpeg({ width: 72 }));
    const sent = await call('POST', '/messages/image', { to: '5511999990000', media_id: queued });
    const later = await call('POST', '/messages/scheduled', {
      type: 'image',
      send_at: new Date(Date.now() + 3_600_000).toISOString(),
      // Ids may be written in capitals.
      body: { to: '5511999990000', media_id: scheduled.toUpperCase() },
    });
    assert.deepEqual([sent.status, later.status], [202, 202], later.text);
    for (const id of [queued, scheduled]) {
      const refused = await remove(id);
      assert.deepEqual([refused.status, refused.body.error_code], [409, 'CONFLICT']);
      assert.equal((await call('GET', `/media/${id}/info`)).status, 200);
    }
    // As the worker does after sending; no worker runs here.
    await media.parts.db.query('DELETE FROM outbox WHERE task_id = $1', [sent.body.task_id]);
    assert.equal((await call('DELETE', `/messages/scheduled/${later.body.id}`)).status, 204);
    for (const id of [queued, scheduled]) assert.equal((await remove(id)).status, 204);
    // Records that name it keep the id, which no longer finds anything.
    const message = await call('GET', `/message/${sent.body.message_id}`);
    assert.deepEqual([message.status, message.body.media_id], [200, queued]);
  });

  test('once, however many ask at the same time, with one line in the audit log', async () => {
    const id = await stored(await jpeg());
    const admin = await withRole(media.parts.db, company, 'admin');
    const answers = await Promise.all(Array.from({ length: 8 }, () => remove(id, admin.apiKey)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, ...Array(7).fill(404)]);
    assert.equal(await used(), 0);
    const { rows } = await media.parts.db.query(
      `SELECT user_id, instance_id, detail ->> 'media_id' AS media_id FROM audit_log
       WHERE company_id = $1 AND action = 'media.deleted'`,
      [company.companyId],
    );
    assert.deepEqual(rows, [{ user_id: admin.userId, instance_id: instanceId, media_id: id }]);
  });

  test('403 for an agent, 404 for media that is unknown, not theirs or of another instance', async () => {
    const id = await stored(await jpeg());
    const agent = await withRole(media.parts.db, company, 'agent');
    const refused = await remove(id, agent.apiKey);
    assert.deepEqual([refused.status, refused.body.error_code], [403, 'INSUFFICIENT_PERMISSIONS']);
    const stranger = await seedCompany(media.parts.db);
    const other = await seedInstance(media.parts.db, company.companyId);
    for (const answer of [
      await remove(randomUUID()),
      await remove('not-a-uuid'),
      await remove(id, stranger.apiKey),
      await media.call('DELETE', `/v1/instances/${other}/media/${id}`, { key: company.apiKey }),
    ])
      assert.deepEqual([answer.status, answer.body.error_code], [404, 'NOT_FOUND']);
    assert.equal((await call('GET', `/media/${id}/info`)).status, 200);
  });
});
