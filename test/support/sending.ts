import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { type Clock, systemClock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { createSandboxDriver, type SandboxDriverOptions } from '@posthorn/network/sandbox/driver.ts';
import { createSandboxServer } from '@posthorn/network/sandbox/server.ts';
import { openWorkerMedia } from '@posthorn/worker/media/open-worker-media.ts';
import { type RunningWorker, startWorker, type WorkerDeps } from '@posthorn/worker/worker.ts';
import { controlOf } from '../network/sandbox-harness.ts';
import type { HeldDriver } from './held-driver.ts';
import { type Answer, startTestMessaging, type TestMessaging } from './messaging.ts';
import { waitFor } from './process.ts';
import { type SeededCompany, seedCompany, seedInstance } from './seed.ts';

export interface LoggedEvent {
  event_id: string;
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: payloads are looked at field by field
  data: any;
}

export interface TestInstance {
  id: string;
  /** The number it is paired with. */
  phone: string;
  jid: string;
}

/** The whole send pipeline in one process: API over HTTP, worker, and the sandbox network over real connections. */
export interface Sending {
  api: TestMessaging;
  company: SeededCompany;
  sandbox: ReturnType<typeof controlOf>;
  /** Where the sandbox's control API and its media are. */
  sandboxUrl: string;
  worker: RunningWorker;
  /** A connected instance; humanize and the guard are off unless asked for. */
  connect(settings?: Partial<InstanceSettings>): Promise<TestInstance>;
  /** A number that nobody has used. */
  newPhone(): string;
  /** A request below `/v1/instances/{id}`, with a fresh Idempotency-Key unless one is given. */
  call(
    instance: TestInstance,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** Sends with POST, expects 202 and gives its body. */
  send(
    instance: TestInstance,
    path: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer['body']>;
  /** The events about a message or task, in the order of the log. */
  eventsOf(messageId: string): Promise<LoggedEvent[]>;
  /** Waits until the log has an event of this type that `fits`. */
  event(
    instance: TestInstance,
    type: string,
    fits?: (data: LoggedEvent['data']) => boolean,
  ): Promise<LoggedEvent>;
  /** The messages that a phone shows, the newest last. */
  // biome-ignore lint/suspicious/noExplicitAny: the sandbox's answers are looked at field by field
  shown(phone: string, chat?: string): Promise<any[]>;
  close(): Promise<void>;
}

export async function startSending(
  options: {
    clock?: Clock;
    log?: Log;
    env?: Record<string, string>;
    worker?: Partial<WorkerDeps>;
    driver?: Omit<SandboxDriverOptions, 'url'>;
    /** Holds the answers of the network back when the test asks for it. */
    held?: Pick<HeldDriver, 'around' | 'releaseAll'>;
    /** Without it an instance pairs by itself, with a fresh number. */
    sandbox?: { autoPair: boolean };
  } = {},
): Promise<Sending> {
  const clock = options.clock ?? systemClock;
  const server = await createSandboxServer({ autoPair: true, autoPairDelayMs: 0, ...options.sandbox });
  const api = await startTestMessaging(
    { SANDBOX_URL: server.url, ...options.env },
    { clock, ...(options.log ? { log: options.log } : {}) },
  );
  const { parts } = api;
  const sandbox = controlOf(server.controlUrl);
  await sandbox.post('/defaults', { read_delay_ms: 20 });
  const driver = createSandboxDriver({ url: server.url, ...options.driver });
  const worker = await startWorker({
    ...parts,
    databaseUrl: parts.url,
    clock,
    broker: createInProcessBroker(),
    cipher: createCipher('0123456789abcdef'.repeat(4)),
    driver: options.held ? options.held.around(driver) : driver,
    name: `worker ${randomUUID()}`,
    media: await openWorkerMedia({ config: api.config, media: api.media, log: parts.log }),
    ...options.worker,
  });
  const company = await seedCompany(parts.db);
  let phones = 0;

  async function call(
    instance: TestInstance,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return api.call(method, `/v1/instances/${instance.id}${path}`, {
      key: company.apiKey,
      headers: { 'idempotency-key': randomUUID(), ...headers },
      ...(body === undefined ? {} : { body }),
    });
  }

  return {
    api,
    company,
    sandbox,
    sandboxUrl: server.controlUrl,
    worker,
    call,
    async connect(settings = {}) {
      const id = await seedInstance(parts.db, company.companyId, {
        state: 'CREATED',
        wanted: 'connected',
        settings: { humanize_enabled: false, anti_spam_guard_enabled: false, ...settings },
      });
      parts.bus.notify('instance', id);
      const row = await waitFor(async () => {
        const found = await parts.db.query<{ state: string; phone: string; jid: string }>(
          'SELECT state, phone, jid FROM instances WHERE id = $1',
          [id],
        );
        return found.rows[0]?.state === 'CONNECTED' && found.rows[0];
      }, 60_000);
      // The row is stored before the network reports the connection: only after that report does it send presence and
      // the like.
      await waitFor(async () => {
        const { accounts } = await sandbox.get('/sessions');
        return accounts.find(({ phone }: { phone: string }) => phone === row.phone)?.live === 1;
      });
      return { id, phone: row.phone, jid: row.jid };
    },
    newPhone() {
      phones += 1;
      return `5531${String(phones).padStart(9, '0')}`;
    },
    async send(instance, path, body, headers) {
      const answer = await call(instance, 'POST', path, body, headers);
      assert.equal(answer.status, 202, `${path}: ${answer.text}`);
      return answer.body;
    },
    async eventsOf(messageId) {
      const found = await parts.db.query<LoggedEvent>(
        `SELECT event_id, type, data FROM events WHERE data->'message_ids'->>0 = $1 ORDER BY tx, id`,
        [messageId],
      );
      return found.rows;
    },
    event: (instance, type, fits = () => true) =>
      waitFor(
        async () => {
          const found = await parts.db.query<LoggedEvent>(
            'SELECT event_id, type, data FROM events WHERE instance_id = $1 AND type = $2 ORDER BY tx, id',
            [instance.id, type],
          );
          return found.rows.find((event) => fits(event.data));
        },
        60_000,
        { what: `an event ${type}` },
      ),
    async shown(phone, chat) {
      const query = chat ? `?chat=${encodeURIComponent(chat)}` : '';
      const answer = await sandbox.call('GET', `/phones/${phone}/messages${query}`);
      return answer.status === 404 ? [] : answer.body.messages;
    },
    async close() {
      options.held?.releaseAll();
      await worker.stop();
      await server.close();
      await api.close();
    },
  };
}
