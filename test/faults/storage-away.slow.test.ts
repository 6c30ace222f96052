import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startGcsServer } from '../media/gcs-server.ts';
import { settingsOf, startS3Server } from '../media/s3-server.ts';
import { jpeg } from '../media/samples.ts';
import { controlOf } from '../network/sandbox-harness.ts';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import type { System } from '../support/system.ts';
import { proveInboundOnce } from './inbound.ts';
import { type ConnectedInstance, connectInstances, proveExactlyOnce } from './traffic.ts';
import { useSystem } from './use-system.ts';

const AWAY_MS = sized(5_000, 15_000, 60_000);
const INSTANCES = 4;
const PAUSE_MS = 250;

/** The kind of media storage, and how it fails. */
interface Storage {
  env: Record<string, string>;
  goAway(system: System): Promise<void>;
  comeBack(system: System): Promise<void>;
}

const STORAGES: Record<string, (t: TestContext) => Promise<Storage>> = {
  async 'the folder of media'() {
    const folder = (system: System) => path.join(system.env.DATA_DIR!, 'media');
    return {
      env: {},
      async goAway(system) {
        renameSync(folder(system), `${folder(system)}-away`);
        // As with a disk that is no longer mounted.
        mkdirSync(folder(system));
      },
      async comeBack(system) {
        rmSync(folder(system), { recursive: true });
        renameSync(`${folder(system)}-away`, folder(system));
      },
    };
  },
  async 'the bucket of S3'(t) {
    const s3 = await startS3Server();
    t.after(() => s3.goAway());
    return { env: settingsOf(s3), goAway: s3.goAway, comeBack: s3.comeBack };
  },
  async "the bucket of Google's"(t) {
    const gcs = await startGcsServer('test-bucket');
    t.after(() => gcs.close());
    const env = { GCS_BUCKET: 'test-bucket', GCS_API_ENDPOINT: gcs.url, GCS_PROJECT_ID: 'test' };
    return { env, goAway: gcs.close, comeBack: gcs.comeBack };
  },
};

for (const [name, open] of Object.entries(STORAGES))
  test(`${name} is away for ${AWAY_MS / 1000} s under load: pictures wait, each goes out once and in order, and each received one is recorded once, with its media`, async (t) => {
    const storage = await open(t);
    const system = await useSystem(t, { workers: 2, env: storage.env });
    const { company, instances } = await connectInstances(system, INSTANCES);
    const headers = { 'x-api-key': company.apiKey };
    const picture = await jpeg();
    const pathOf = ({ id }: ConnectedInstance) => `${system.urls[0]}/v1/instances/${id}`;

    async function upload(instance: ConnectedInstance): Promise<string> {
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(picture)], { type: 'image/jpeg' }), 'a.jpg');
      const answer = await fetch(`${pathOf(instance)}/media`, { method: 'POST', body: form, headers });
      assert.equal(answer.status, 201);
      return ((await answer.json()) as { media_id: string }).media_id;
    }
    let isOver = false;
    let written = 0;
    const accepted = new Map<string, string[]>(instances.map(({ id }) => [id, []]));
    const received = new Map<string, string[]>(instances.map(({ id }) => [id, []]));
    const refused: string[] = [];
    async function send(instance: ConnectedInstance): Promise<void> {
      const media_id = await upload(instance);
      for (let nth = 0; !isOver && !t.signal.aborted; nth += 1) {
        // At most two messages a contact, so that the guard, which is on, lets them pass.
        const to = `5531${String(instances.indexOf(instance) * 100_000 + Math.floor(nth / 2)).padStart(9, '0')}`;
        const answer = await fetch(`${pathOf(instance)}/messages/image`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
          body: JSON.stringify({ to, media_id, caption: `picture ${nth}` }),
        });
        const text = await answer.text();
        if (answer.status === 202) accepted.get(instance.id)!.push(JSON.parse(text).message_id);
        else refused.push(`${answer.status} ${text}`);
        await delay(PAUSE_MS);
      }
    }
    async function receive(): Promise<void> {
      const control = controlOf(system.sandboxUrl);
      for (; !isOver && !t.signal.aborted; written += 1) {
        const instance = instances[written % INSTANCES]!;
        const answer = await control.post(`/phones/5541${String(written).padStart(9, '0')}/messages`, {
          to: instance.phone,
          type: 'image',
          // Each picture is different: equal ones are stored once.
          media_base64: Buffer.concat([picture, Buffer.from(String(written))]).toString('base64'),
          mime_type: 'image/jpeg',
        });
        received.get(instance.id)!.push(answer.id);
        await delay(PAUSE_MS);
      }
    }
    const sentSoFar = async () => {
      const { rows } = await system.db.query<{ n: number }>(
        'SELECT count(*)::integer AS n FROM messages WHERE sent_at IS NOT NULL',
      );
      return rows[0]!.n;
    };

    const load = Promise.all([...instances.map(send), receive()]);
    await waitFor(async () => (await sentSoFar()) > INSTANCES * 3, 60_000);
    await storage.goAway(system);
    await delay(AWAY_MS);
    const waiting = await system.db.query('SELECT FROM outbox');
    await storage.comeBack(system);
    const before = await sentSoFar();
    await waitFor(async () => (await sentSoFar()) > before + INSTANCES, 60_000, { what: 'sends go on' });
    isOver = true;
    await load;
    assert.ok(waiting.rows.length >= INSTANCES, `${waiting.rows.length} sends waited`);
    assert.deepEqual(refused, [], 'every accept was answered 202 at once');
    const { repeatsDropped } = await proveExactlyOnce(system, instances, accepted);
    await proveInboundOnce(system, received);
    const { rows } = await system.db.query<{ media: boolean; n: number }>(
      `SELECT media_id IS NOT NULL AS media, count(*)::integer AS n FROM messages WHERE direction = 'inbound' GROUP BY 1`,
    );
    assert.deepEqual(rows, [{ media: true, n: written }]);
    t.diagnostic(
      `${[...accepted.values()].flat().length} pictures sent, ${waiting.rows.length} waited, ${written} received; ${repeatsDropped} repeats dropped by the network`,
    );
  });
