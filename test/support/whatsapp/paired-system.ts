import './library-timers.ts';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { useSystem } from '../../faults/use-system.ts';
import { waitFor } from '../process.ts';
import { overRaggedLink, type RaggedLink } from '../ragged-link.ts';
import { seedCompany } from '../seed.ts';
import type { System } from '../system.ts';
import { ensureWhatsAppLibrary } from './library-install.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from './network.ts';
import type { PhoneHandle } from './phone-handle.ts';

const PAIRINGS_AT_ONCE = 4;

/** An instance and the phone that it is paired with. */
export interface Paired {
  id: string;
  phone: PhoneHandle;
}

export type Call = (method: string, path: string, body?: object, key?: string) => Promise<Answer>;
interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of an API under test are looked at field by field
  body: any;
}

/** A simulated WhatsApp network, and a system of two workers without pacing on it, which reaches its database over `link`. */
export async function useWhatsAppSystem(
  t: TestContext,
): Promise<{ network: WhatsAppNetwork; system: System; call: Call; link: RaggedLink }> {
  await ensureWhatsAppLibrary();
  const network = await startWhatsAppNetwork();
  t.after(() => network.close());
  const folder = await mkdtemp(path.join(tmpdir(), 'posthorn-authority-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  const authority = path.join(folder, 'media.pem');
  await writeFile(authority, network.ca);
  const links: RaggedLink[] = [];
  const system = await useSystem(t, {
    workers: 2,
    async over(databaseUrl) {
      const { link, url } = await overRaggedLink(databaseUrl);
      links.push(link);
      t.after(() => link.close());
      return url;
    },
    env: {
      NETWORK_DRIVERS: 'sandbox,whatsapp',
      WHATSAPP_URL: network.url,
      WHATSAPP_TEST_ROOT: network.trustedRoot.toString('base64'),
      // The media servers speak TLS.
      NODE_EXTRA_CA_CERTS: authority,
      NODE_OPTIONS: '--import ./test/support/whatsapp/trust-root.ts',
      PACING_MIN_MS: '0',
    },
  });
  await untilShared(system);
  return { network, system, call: await callerOf(system), link: links[0]! };
}

/** Waits until each worker has its share of the shards: a pairing ends when its instance changes its owner. */
async function untilShared({ db, workers }: System): Promise<void> {
  await waitFor(async () => {
    const { rows } = await db.query<{ shards: number }>(
      `SELECT count(*)::integer AS shards FROM shards JOIN workers ON workers.id = shards.owner_id GROUP BY workers.id`,
    );
    return rows.length === workers.length && new Set(rows.map(({ shards }) => shards)).size === 1;
  }, 60_000);
}

async function callerOf(system: System): Promise<Call> {
  const { apiKey } = await seedCompany(system.db, { requestsPerMinute: 1_000_000 });
  return async (method, path, body, key = randomUUID()) => {
    const answer = await fetch(`${system.urls[0]}/v1/instances${path}`, {
      method,
      headers: {
        'x-api-key': apiKey,
        accept: 'application/json',
        'idempotency-key': key,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  };
}

/**
 * Scans the QR code that is shown, and the next one if the session of the first is gone: while workers still share out
 * the shards, an instance may change its owner.
 */
async function scanShown(call: Call, id: string, phone: PhoneHandle): Promise<void> {
  for (let last: string | undefined; ; ) {
    const qr = await waitFor(async () => {
      const shown = await call('GET', `/${id}/qr`);
      return shown.status === 200 && shown.body.qr !== last && shown.body.qr;
    }, 60_000);
    if (phone.sees(qr)) return phone.scan(qr);
    last = qr;
  }
}

/** Pairs an instance with each phone. */
export async function pairAll(call: Call, phones: readonly PhoneHandle[]): Promise<Paired[]> {
  const waiting = [...phones];
  const paired: Paired[] = [];
  const pairNext = async () => {
    for (let phone = waiting.shift(); phone; phone = waiting.shift()) paired.push(await pair(call, phone));
  };
  await Promise.all(Array.from({ length: PAIRINGS_AT_ONCE }, pairNext));
  return paired;
}

async function pair(call: Call, phone: PhoneHandle): Promise<Paired> {
  const created = await call('POST', '', { name: `Number ${phone.number}`, driver: 'whatsapp' });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const { id } = created.body;
  await call('PATCH', `/${id}/settings`, { humanize_enabled: false, anti_spam_guard_enabled: false });
  assert.equal((await call('POST', `/${id}/connect`)).status, 202);
  await scanShown(call, id, phone);
  await waitFor(async () => (await call('GET', `/${id}`)).body.state === 'CONNECTED', 60_000);
  await waitFor(() => phone.device.connection !== null && phone.device.logins === 1, 60_000);
  return { id, phone };
}
