import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cloudWebhookUrl } from '@posthorn/core/cloud/webhook-url.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import type { OfficialNumber } from '@posthorn/network/sandbox/graph/model.ts';
import { createGraphServer, type GraphServer } from '@posthorn/network/sandbox/graph/server.ts';
import { type CloudDriverOptions, createCloudDriver } from '@posthorn/network/whatsapp-cloud/driver.ts';
import { openWorkerMedia } from '@posthorn/worker/media/open-worker-media.ts';
import { type RunningWorker, startWorker, type WorkerDeps } from '@posthorn/worker/worker.ts';
import { type Answer, startTestMessaging, type TestMessaging } from '../messaging.ts';
import { waitFor } from '../process.ts';
import { type SeededCompany, seedCompany } from '../seed.ts';
import type { LoggedEvent } from '../sending.ts';

/** The send pipeline over HTTP, with a worker and the simulated Cloud API, which posts to the API's own webhook route. */
export interface CloudSending {
  api: TestMessaging;
  graph: GraphServer;
  company: SeededCompany;
  /** A worker as another process would run it; the first one is started. */
  startWorker(): Promise<RunningWorker>;
  worker: RunningWorker;
  /** An instance without credentials. */
  create(settings?: Record<string, unknown>): Promise<string>;
  /** A connected instance and its number. */
  connect(settings?: Record<string, unknown>): Promise<CloudInstance>;
  give(instanceId: string, number: OfficialNumber, changes?: Record<string, string>): Promise<Answer>;
  call(instanceId: string, method: string, path: string, body?: unknown): Promise<Answer>;
  /**
   * Somebody writes to the instance, which may write to them for 24 hours from then on; `more` is merged into the message.
   * Answers its network id.
   */
  greet(instance: CloudInstance, person: string, more?: Record<string, unknown>): Promise<string>;
  /** Sends, expects 202 and gives the message's id. */
  send(instance: CloudInstance, path: string, body: unknown): Promise<string>;
  status(
    instance: CloudInstance,
    messageId: string,
  ): Promise<{ status: string; failed_reason: string | null }>;
  /** Waits until the message has this status. */
  reaches(instance: CloudInstance, messageId: string, status: string): Promise<void>;
  eventsOf(messageId: string): Promise<LoggedEvent[]>;
  events(instanceId: string, type: string): Promise<LoggedEvent[]>;
  state(instanceId: string, state: string): Promise<Answer['body']>;
  /** Waits until every posted body has been handed over. */
  drained(): Promise<void>;
  close(): Promise<void>;
}

export interface CloudInstance {
  id: string;
  number: OfficialNumber;
}

export async function startCloudSending(
  options: {
    driver?: Partial<CloudDriverOptions>;
    worker?: Partial<WorkerDeps>;
    random?: () => number;
    /** Another Graph API than the one that is started here. */
    graphUrl?: string;
  } = {},
): Promise<CloudSending> {
  const graph = await createGraphServer(options.random ? { random: options.random } : {});
  const graphUrl = options.graphUrl ?? graph.url;
  const api = await startTestMessaging(
    { NETWORK_DRIVERS: 'whatsapp-cloud', GRAPH_URL: graphUrl },
    { clock: systemClock },
  );
  const { parts, config } = api;
  const company = await seedCompany(parts.db);
  const workers: RunningWorker[] = [];
  let phones = 0;

  async function startOne(): Promise<RunningWorker> {
    const worker = await startWorker({
      ...parts,
      databaseUrl: parts.url,
      clock: systemClock,
      broker: createInProcessBroker(),
      cipher: createCipher(config.ENCRYPTION_KEY),
      driver: createCloudDriver({
        graph: { url: graphUrl, version: 'v26.0' },
        callbackUrl: (instanceId) => cloudWebhookUrl(api.url, instanceId),
        log: parts.log,
        ...options.driver,
      }),
      name: `worker ${randomUUID()}`,
      media: await openWorkerMedia({ config, media: api.media, log: parts.log }),
      typingMaxMs: 0,
      ...options.worker,
    });
    workers.push(worker);
    return worker;
  }

  const call: CloudSending['call'] = (instanceId, method, path, body) =>
    api.call(method, `/v1/instances/${instanceId}${path}`, {
      key: company.apiKey,
      headers: { 'idempotency-key': randomUUID() },
      ...(body === undefined ? {} : { body }),
    });
  const give: CloudSending['give'] = (instanceId, number, changes = {}) =>
    call(instanceId, 'PUT', '/credentials', {
      ...{ phone_number_id: number.id, business_account_id: number.businessId },
      ...{ access_token: number.token, app_secret: number.appSecret },
      ...changes,
    });
  async function create(settings = {}): Promise<string> {
    const created = await api.call('POST', '/v1/instances', {
      key: company.apiKey,
      body: {
        name: `instance ${randomUUID()}`,
        driver: 'whatsapp-cloud',
        settings: { anti_spam_guard_enabled: false, ...settings },
      },
    });
    assert.equal(created.status, 201, created.text);
    return created.body.id;
  }
  const state: CloudSending['state'] = (instanceId, wanted) =>
    waitFor(
      async () => {
        const { body } = await call(instanceId, 'GET', '');
        return body.state === wanted && body;
      },
      60_000,
      { what: `the state ${wanted}` },
    );
  const status: CloudSending['status'] = async (_, messageId) => {
    const { rows } = await parts.db.query<{ status: string; failed_reason: string | null }>(
      'SELECT status, failed_reason FROM messages WHERE id = $1',
      [messageId],
    );
    return rows[0]!;
  };
  return {
    ...{ api, graph, company, call, give, create, state, status },
    startWorker: startOne,
    worker: await startOne(),
    async connect(settings = {}) {
      const id = await create(settings);
      phones += 1;
      const number = graph.addNumber({ phone: `5511${String(phones).padStart(9, '0')}` });
      const given = await give(id, number);
      assert.equal(given.status, 200, given.text);
      await state(id, 'CONNECTED');
      return { id, number };
    },
    async greet({ id, number }, person, more) {
      const received = graph.write(person, number, 'text', { body: 'Hello' }, more);
      await waitFor(async () => {
        const { rows } = await parts.db.query(
          'SELECT 1 FROM messages WHERE instance_id = $1 AND network_id = $2',
          [id, received],
        );
        return rows.length > 0;
      });
      return received;
    },
    async send(instance, path, body) {
      const answer = await call(instance.id, 'POST', path, body);
      assert.equal(answer.status, 202, `${path}: ${answer.text}`);
      return answer.body.message_id;
    },
    async reaches(instance, messageId, wanted) {
      await waitFor(async () => (await status(instance, messageId)).status === wanted, 60_000, {
        what: `the status ${wanted}`,
      });
    },
    async eventsOf(messageId) {
      const { rows } = await parts.db.query<LoggedEvent>(
        `SELECT event_id, type, data FROM events WHERE data->'message_ids'->>0 = $1 ORDER BY tx, id`,
        [messageId],
      );
      return rows;
    },
    async events(instanceId, type) {
      const { rows } = await parts.db.query<LoggedEvent>(
        'SELECT event_id, type, data FROM events WHERE instance_id = $1 AND type = $2 ORDER BY tx, id',
        [instanceId, type],
      );
      return rows;
    },
    async drained() {
      await waitFor(
        async () => {
          const isPosted = [...graph.world.numbers.values()].every(
            (each) => graph.poster(each).pending() === 0,
          );
          const { rows } = await parts.db.query<{ n: number }>(
            'SELECT count(*)::integer AS n FROM network_inbox',
          );
          return isPosted && rows[0]!.n === 0;
        },
        60_000,
        { what: 'an empty inbox' },
      );
    },
    async close() {
      for (const worker of workers) await worker.stop().catch(() => undefined);
      await graph.close();
      await api.close();
    },
  };
}
