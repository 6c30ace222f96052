/** A sandbox network on a free port, instances with real connections to it, and its control API. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  DisconnectReason,
  NetworkSession,
  OutboundMessage,
  SessionSink,
} from '@posthorn/core/network/driver.ts';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { createSandboxDriver, type SandboxDriverOptions } from '@posthorn/network/sandbox/driver.ts';
import { createSandboxServer, type SandboxOptions } from '@posthorn/network/sandbox/server.ts';
import { type Heard, hearing, nothingHeard } from './heard.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of an API under test are looked at field by field
export type Json = any;

export interface Sandbox {
  url: string;
  controlUrl: string;
  port: number;
  close(): Promise<void>;
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>;
  get(path: string): Promise<Json>;
  post(path: string, body?: unknown): Promise<Json>;
}

/** Closed when the test ends. Instances are paired by the test unless `autoPair` is set. */
export async function startSandbox(t: TestContext, options: SandboxOptions = {}): Promise<Sandbox> {
  const server = await createSandboxServer({ autoPair: false, ...options });
  t.after(() => server.close());
  return { ...server, ...controlOf(server.controlUrl) };
}

export function controlOf(controlUrl: string): Pick<Sandbox, 'call' | 'get' | 'post'> {
  async function call(method: string, path: string, body?: unknown) {
    const response = await fetch(controlUrl + path, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' } }),
      body: typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Json };
  }
  async function expectSuccess(method: string, path: string, body?: unknown) {
    const answer = await call(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
  return {
    call,
    get: (path) => expectSuccess('GET', path),
    post: (path, body) => expectSuccess('POST', path, body),
  };
}

export interface Instance extends Heard {
  session: NetworkSession;
  qrs: { qr: string; expiresAt: Date }[];
  identity: { credentials: unknown; phone: string; jid: string; pushName: string } | undefined;
  connected: boolean;
  ended: DisconnectReason[];
  sendText(to: string, text: string, networkId?: string): Promise<string>;
}

export interface InstanceOptions extends Partial<SandboxDriverOptions> {
  instanceId?: string;
  epoch?: number;
  credentials?: unknown;
  sink?: Partial<SessionSink>;
}

/** The sandbox keeps all state itself. */
const NO_KEYS = { read: async () => new Map(), write: async () => undefined, clear: async () => undefined };

/** Opens a session whose sink records everything; closed when the test ends. */
export async function openInstance(
  t: TestContext,
  url: string,
  options: InstanceOptions = {},
): Promise<Instance> {
  const driver = createSandboxDriver({ ...options, url });
  const instance: Instance = {
    session: undefined as unknown as NetworkSession,
    qrs: [],
    identity: undefined,
    connected: false,
    ended: [],
    ...nothingHeard(),
    async sendText(to, text, networkId = networkIdOf(newId())) {
      await instance.session.send(textMessage(to, text, networkId));
      return networkId;
    },
  };
  const sink: SessionSink = {
    qr: (qr, expiresAt) => instance.qrs.push({ qr, expiresAt }),
    async paired(identity) {
      instance.identity = identity;
    },
    connected() {
      instance.connected = true;
    },
    disconnected: (reason) => instance.ended.push(reason),
    restricted: () => undefined,
    ...hearing(instance),
    ...options.sink,
  };
  const { instanceId = newId(), epoch = 1, credentials = null } = options;
  instance.session = await driver.open({ instanceId, epoch, credentials, keys: NO_KEYS, proxy: null }, sink);
  t.after(() => instance.session.close());
  return instance;
}

/** An instance that is paired with `phone` and connected. */
export async function pairInstance(
  t: TestContext,
  sandbox: Sandbox,
  phone: string,
  options: InstanceOptions = {},
): Promise<Instance> {
  const instance = await openInstance(t, sandbox.url, options);
  await until(() => instance.qrs.length > 0);
  await sandbox.post('/pair', { qr: instance.qrs.at(-1)!.qr, phone });
  await until(() => instance.connected);
  return instance;
}

export function textMessage(to: string, text: string, networkId = networkIdOf(newId())): OutboundMessage {
  return { networkId, to: jid(to), type: 'text', content: { text } };
}

export function jid(phone: string): string {
  return phone.includes('@') ? phone : `${phone}@s.whatsapp.net`;
}

export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) assert.fail(`not within ${timeoutMs} ms: ${condition}`);
    await delay(5);
  }
}

export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'posthorn-sandbox-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}
