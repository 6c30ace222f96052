import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { insertEvents, type NewEvent } from '@posthorn/core/events/insert-events.ts';
import { createDb, type Sql } from '@posthorn/core/platform/database/db.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { createOutbound, type OutboundOptions } from '@posthorn/core/platform/http/outbound-http.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { HELD_WITH_SLOW_MAX } from '@posthorn/worker/webhooks/claim-state.ts';
import type { WebhookDispatcherDeps } from '@posthorn/worker/webhooks/dispatcher-context.ts';
import type { AttemptResult } from '@posthorn/worker/webhooks/record-attempts.ts';
import {
  createWebhookDispatcher,
  type WebhookDispatcher,
} from '@posthorn/worker/webhooks/webhook-dispatcher.ts';
import { newEvent } from '../events/support.ts';
import { testConfig } from '../support/config.ts';
import { listen } from '../support/listen.ts';
import type { Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import type { TestClock } from '../support/test-clock.ts';

export const cipher = createCipher(testConfig().ENCRYPTION_KEY);

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  at: number;
}

export interface Receiver {
  url: string;
  port: number;
  received: Received[];
  requests: number;
  close(): Promise<void>;
}

/** Longer than clients keep idle connections: ended here, one might have a request on its way. */
const KEEP_ALIVE_MS = 72_000;

/** An endpoint that keeps its requests and answers 200, or as `answer` does. */
export async function startReceiver(
  answer: (req: IncomingMessage, res: ServerResponse, body: string) => void = (_req, res) => res.end('ok'),
  options: { keep?: boolean } = {},
): Promise<Receiver> {
  const receiver: Receiver = { url: '', port: 0, received: [], requests: 0, close: async () => undefined };
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('error', () => undefined);
    res.on('error', () => undefined);
    req.on('end', () => {
      receiver.requests += 1;
      const body = Buffer.concat(chunks).toString('utf8');
      if (options.keep !== false)
        receiver.received.push({ path: req.url ?? '', headers: req.headers, body, at: performance.now() });
      answer(req, res, body);
    });
  });
  receiver.port = await listen(server);
  receiver.url = `http://127.0.0.1:${receiver.port}`;
  receiver.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return receiver;
}

export interface SeededWebhook {
  id: number;
  companyId: number;
  secret: string;
}

export async function seedWebhook(
  sql: Sql,
  companyId: number,
  url: string,
  more: {
    patterns?: string[];
    instanceId?: string;
    enabled?: boolean;
    headers?: Record<string, string>;
  } = {},
): Promise<SeededWebhook> {
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  const { rows } = await sql.query<{ id: number }>(
    `INSERT INTO webhooks (company_id, instance_id, url, patterns, headers, enabled, secret)
     VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`,
    [
      companyId,
      more.instanceId ?? null,
      url,
      more.patterns ?? ['*'],
      more.headers ? cipher.seal(more.headers) : null,
      more.enabled ?? true,
      cipher.seal(secret),
    ],
  );
  return { id: rows[0]!.id, companyId, secret };
}

export interface TestDispatcher extends WebhookDispatcher {
  close(): Promise<void>;
}

/** The delivery engine in this process, as a worker runs it; by default on the real clock. */
export async function startDispatcher(
  parts: Parts,
  more: Partial<WebhookDispatcherDeps> & { outboundOptions?: OutboundOptions } = {},
): Promise<TestDispatcher> {
  const db = createDb({ url: parts.url, poolSize: 6, log: parts.log, name: 'test worker', plans: 'indexed' });
  const outbound = createOutbound({
    allowPrivate: true,
    connectionsPerOrigin: HELD_WITH_SLOW_MAX,
    ...more.outboundOptions,
  });
  const dispatcher = createWebhookDispatcher({ ...parts, clock: systemClock, db, cipher, outbound, ...more });
  await dispatcher.start();
  let closing: Promise<void> | null = null;
  const close = async () => {
    await dispatcher.stop();
    await outbound.close();
    await db.close();
  };
  return {
    ...dispatcher,
    // May be called again, by the clean-up after a test that failed half way.
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Moves the clock once the dispatcher's search sleeps on it: a search under way would miss the move. */
export async function advance(clock: TestClock, ms: number): Promise<void> {
  await waitFor(() => clock.sleepers() > 0);
  clock.advance(ms);
}

/** Events that fan out to the webhooks of their company, in statements of at most 500. */
export async function emitEvents(
  parts: Parts,
  companyId: number,
  count: number,
  more: Partial<NewEvent> = {},
): Promise<NewEvent[]> {
  const events = Array.from({ length: count }, () => newEvent(companyId, more));
  for (let i = 0; i < events.length; i += 500) await insertEvents(parts.db, events.slice(i, i + 500));
  parts.bus.notify('deliveries');
  return events;
}

export interface LogRow {
  id: number;
  event_id: string;
  webhook_id: number;
  attempt: number;
  success: boolean;
  status_code: number | null;
  error_class: string;
  response: string;
  latency_ms: number;
  created_at: Date;
}

export async function logsOf(sql: Sql, webhookId: number): Promise<LogRow[]> {
  const { rows } = await sql.query<LogRow>(
    'SELECT * FROM webhook_delivery_logs WHERE webhook_id = $1 ORDER BY id',
    [webhookId],
  );
  return rows;
}

/** A first attempt that was answered 200. */
export function successOf(deliveryId: number): AttemptResult {
  return {
    deliveryId,
    attempt: 1,
    webhookUrl: '',
    webhookVersion: '',
    eventType: 'message.read',
    instanceId: null,
    statusCode: 200,
    errorClass: '',
    response: '',
    latencyMs: 1,
    endedAt: new Date(),
    nextAttemptAt: null,
    earlyFrom: null,
  };
}

export async function pendingOf(sql: Sql, webhookId: number): Promise<number> {
  const { rows } = await sql.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM webhook_deliveries WHERE webhook_id = $1',
    [webhookId],
  );
  return rows[0]!.n;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export interface ChildProgram {
  /** Sends a line and returns the next line that it prints. */
  ask(line?: string): Promise<string>;
  /** SIGKILL, without a clean shutdown. */
  kill(): Promise<void>;
}

/** Runs a program of this folder as a process, which ends with this one. Resolves with its first line. */
export async function startProgram(
  file: string,
  env: Record<string, string> = {},
): Promise<ChildProgram & { firstLine: string }> {
  const child = spawn(process.execPath, ['--expose-gc', path.join(import.meta.dirname, file)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, ...env },
  });
  const lines = createInterface({ input: child.stdout });
  const nextLine = () => once(lines, 'line').then(([line]) => String(line));
  return {
    firstLine: await nextLine(),
    ask(line = '') {
      const answer = nextLine();
      child.stdin.write(`${line}\n`);
      return answer;
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}
