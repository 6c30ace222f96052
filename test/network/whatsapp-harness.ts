/** Instances with real connections to the simulated WhatsApp network. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type {
  DisconnectReason,
  NetworkSession,
  OutboundMessage,
  PairedIdentity,
  SessionKeys,
  SessionSink,
} from '@posthorn/core/network/driver.ts';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import type { Intake } from '@posthorn/network/whatsapp/intake.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import '../support/whatsapp/library-timers.ts';
import { ensureWhatsAppLibrary } from '../support/whatsapp/library-install.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { until } from '../support/whatsapp/phone-handle.ts';
import { type Heard, hearing, nothingHeard } from './heard.ts';

export { until };

/** A network for the test, which the driver of this process trusts. */
export async function startNetwork(): Promise<WhatsAppNetwork> {
  await ensureWhatsAppLibrary();
  const network = await startWhatsAppNetwork();
  trustRoot(await loadLibrary(), network.trustedRoot);
  return network;
}

/** Keys as the owner keeps them: reads return copies, as from a database. */
export function memoryKeys(): SessionKeys & { rows: Map<string, string>; writes: number } {
  const rows = new Map<string, string>();
  const keys = {
    rows,
    writes: 0,
    async read(kind: string, ids?: readonly string[]) {
      const found = [...rows].filter(([name]) => name.startsWith(`${kind}\n`));
      const all = found.map(([name, value]): [string, unknown] => [
        name.slice(kind.length + 1),
        JSON.parse(value),
      ]);
      return new Map(ids ? all.filter(([id]) => ids.includes(id)) : all);
    },
    async write(changes: Parameters<SessionKeys['write']>[0]) {
      keys.writes += 1;
      await new Promise((resolve) => setImmediate(resolve));
      for (const { kind, id, value } of changes) {
        if (value === null) rows.delete(`${kind}\n${id}`);
        else rows.set(`${kind}\n${id}`, JSON.stringify(value));
      }
    },
    async clear() {
      rows.clear();
    },
  };
  return keys;
}

export interface WhatsAppInstance extends Heard {
  session: NetworkSession;
  keys: ReturnType<typeof memoryKeys>;
  qrs: string[];
  identity: PairedIdentity | undefined;
  connections: number;
  ended: { reason: DisconnectReason; error: string | undefined }[];
  restrictions: (string | null)[];
  send(message: Omit<OutboundMessage, 'networkId'> & { networkId?: string }): Promise<string>;
}

export interface OpenOptions {
  url: string;
  ca?: string;
  keys?: ReturnType<typeof memoryKeys>;
  credentials?: unknown;
  proxy?: string | null;
  sink?: Partial<SessionSink>;
  sendTimeoutMs?: number;
  /** Shared with other instances, as in one process. */
  intake?: Intake;
}

/** Opens a session whose sink records everything; closed when the test ends. */
export async function openWhatsApp(t: TestContext, options: OpenOptions): Promise<WhatsAppInstance> {
  const driver = createWhatsAppDriver({
    url: options.url,
    log: createLog({ level: process.env.TEST_LOG_LEVEL ?? 'silent', role: 'test' }),
    allowPrivateProxies: true,
    ...(options.ca ? { ca: options.ca } : {}),
    ...(options.intake ? { intake: options.intake } : {}),
    ...(options.sendTimeoutMs ? { sendTimeoutMs: options.sendTimeoutMs } : {}),
  });
  const instance: WhatsAppInstance = {
    session: undefined as unknown as NetworkSession,
    keys: options.keys ?? memoryKeys(),
    qrs: [],
    identity: undefined,
    connections: 0,
    ended: [],
    restrictions: [],
    ...nothingHeard(),
    async send({ networkId = networkIdOf(newId()), ...message }) {
      await instance.session.send({ networkId, ...message });
      return networkId;
    },
  };
  const sink: SessionSink = {
    qr: (qr) => void instance.qrs.push(qr),
    async paired(identity) {
      instance.identity = identity;
    },
    connected() {
      instance.connections += 1;
    },
    disconnected: (reason, error) => void instance.ended.push({ reason, error }),
    restricted: (restriction) => void instance.restrictions.push(restriction),
    ...hearing(instance),
    ...options.sink,
  };
  const { keys, credentials = null, proxy = null } = { ...options, keys: instance.keys };
  instance.session = await driver.open({ instanceId: newId(), epoch: 1, credentials, keys, proxy }, sink);
  t.after(() => instance.session.close());
  return instance;
}

/** An instance that is paired with this phone, and logged in. */
export async function pairWhatsApp(
  t: TestContext,
  network: WhatsAppNetwork,
  phone: ReturnType<WhatsAppNetwork['phone']>,
  options: Partial<OpenOptions> = {},
): Promise<WhatsAppInstance> {
  const instance = await openWhatsApp(t, { url: network.url, ca: network.ca, ...options });
  phone.scan(await until(() => instance.qrs.at(-1), 'a QR code'));
  await until(() => instance.connections > 0, 'the login after the pairing');
  assert.ok(instance.identity);
  return instance;
}

/**
 * Waits for the fetch that follows a pairing. The library treats the result of that fetch as history, and drops changes
 * of chats without a history; it reports later changes by the phone.
 */
export async function firstFetch({ device }: ReturnType<WhatsAppNetwork['phone']>): Promise<void> {
  await until(() => device.fetches > 0, 'the first fetch of the account');
}

/** The same instance again, as the next owner opens it. */
export function reopenWhatsApp(
  t: TestContext,
  network: WhatsAppNetwork,
  before: WhatsAppInstance,
  options: Partial<OpenOptions> = {},
): Promise<WhatsAppInstance> {
  const { keys, identity } = before;
  return openWhatsApp(t, {
    url: network.url,
    ca: network.ca,
    keys,
    credentials: identity!.credentials,
    ...options,
  });
}
