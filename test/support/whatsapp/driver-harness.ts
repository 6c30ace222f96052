import './library-timers.ts';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type {
  DisconnectReason,
  NetworkDriver,
  NetworkInbox,
  NetworkSession,
  OpenRequest,
  OutboundMessage,
  PairedIdentity,
  SessionKey,
  SessionKeys,
  SessionSink,
} from '@posthorn/core/network/driver.ts';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { type Heard, hearing, nothingHeard } from '../../network/heard.ts';
import { type PhoneHandle, until } from './phone-handle.ts';

/** A session of any driver, with a sink that records everything, for tests of the port. */
export interface Recorded extends Heard {
  session: NetworkSession;
  qrs: string[];
  identity: PairedIdentity | null;
  connected: number;
  ended: DisconnectReason[];
  restrictions: (string | null)[];
}

/** The data that an instance keeps: its pairing, and the keys of its session. */
export interface Kept {
  instanceId: string;
  epoch: number;
  credentials: unknown | null;
  keys: MemoryKeys;
  inbox?: NetworkInbox;
}

export function newKept(): Kept {
  return { instanceId: newId(), epoch: 0, credentials: null, keys: new MemoryKeys() };
}

/** Keeps the keys of a session in memory, as JSON, as the database does. */
export class MemoryKeys implements SessionKeys {
  readonly #values = new Map<string, Map<string, string>>();
  /** Called before each write; an error that it throws rejects the write, and nothing is stored. */
  beforeWrite: ((changes: readonly SessionKey[]) => void) | null = null;
  /** Called when a write is durable. */
  afterWrite: ((changes: readonly SessionKey[]) => void) | null = null;

  async read(kind: string, ids?: readonly string[]): Promise<Map<string, unknown>> {
    const all = this.#values.get(kind) ?? new Map<string, string>();
    const wanted = ids ?? [...all.keys()];
    const found = new Map<string, unknown>();
    for (const id of wanted) {
      const written = all.get(id);
      if (written !== undefined) found.set(id, JSON.parse(written));
    }
    return found;
  }

  async write(changes: readonly SessionKey[]): Promise<void> {
    this.beforeWrite?.(changes);
    for (const { kind, id, value } of changes) {
      const all = this.#values.get(kind) ?? new Map<string, string>();
      this.#values.set(kind, all);
      if (value === null) all.delete(id);
      else all.set(id, JSON.stringify(value));
    }
    this.afterWrite?.(changes);
  }

  async clear(): Promise<void> {
    this.#values.clear();
  }
}

export interface OpenOptions {
  sink?: Partial<SessionSink>;
  proxy?: string | null;
}

/** Opens a session with the kept data, as its next owner. */
export async function openRecorded(
  driver: NetworkDriver,
  kept: Kept,
  { sink: replaced = {}, proxy = null }: OpenOptions = {},
): Promise<Recorded> {
  kept.epoch += 1;
  const recorded: Recorded = {
    session: undefined as unknown as NetworkSession,
    qrs: [],
    identity: null,
    connected: 0,
    ended: [],
    ...nothingHeard(),
    restrictions: [],
  };
  const sink: SessionSink = {
    qr: (qr) => recorded.qrs.push(qr),
    async paired(identity) {
      recorded.identity = identity;
      kept.credentials = identity.credentials;
    },
    connected() {
      recorded.connected += 1;
    },
    disconnected: (reason) => recorded.ended.push(reason),
    restricted: (restriction) => recorded.restrictions.push(restriction),
    ...hearing(recorded),
    ...replaced,
  };
  const { instanceId, epoch, credentials, keys, inbox } = kept;
  const request: OpenRequest = { instanceId, epoch, credentials, keys, proxy, ...(inbox ? { inbox } : {}) };
  recorded.session = await driver.open(request, sink);
  return recorded;
}

/** Opens a session for which the phone scans the QR code, and waits until it is connected. */
export async function openPaired(
  driver: NetworkDriver,
  phone: PhoneHandle,
  kept: Kept = newKept(),
  options: OpenOptions = {},
): Promise<Recorded> {
  const recorded = await openRecorded(driver, kept, options);
  try {
    await pair(recorded, phone);
  } catch (err) {
    await recorded.session.close();
    throw err;
  }
  return recorded;
}

/** The phone scans the QR code of a session, which connects. */
export async function pair(recorded: Recorded, phone: PhoneHandle): Promise<void> {
  phone.scan(await until(() => recorded.qrs.at(-1), 'a QR code'));
  await connected(recorded);
}

/** Sends a text and returns its id. */
export async function sendText(
  { session }: Recorded,
  to: string,
  text: string,
  networkId: string = networkIdOf(newId()),
): Promise<string> {
  await session.send(outbound(to, 'text', { text }, { networkId }));
  return networkId;
}

export function outbound(
  to: string,
  type: string,
  content: Record<string, unknown>,
  more: Partial<OutboundMessage> = {},
): OutboundMessage {
  return { networkId: networkIdOf(newId()), to: to as OutboundMessage['to'], type, content, ...more };
}

export async function connected(recorded: Recorded): Promise<void> {
  await until(() => recorded.connected > 0 || recorded.ended.length > 0, 'the session is connected', 60_000);
  assert.deepEqual(recorded.ended, []);
}

export async function endOf(recorded: Recorded): Promise<DisconnectReason> {
  await until(() => recorded.ended.length > 0, 'the session ends', 60_000);
  return recorded.ended[0]!;
}

/** A number of the country code that no country has. */
export function newNumber(): string {
  return `9998${String(BigInt(`0x${randomUUID().replaceAll('-', '').slice(0, 12)}`) % 10n ** 8n).padStart(8, '0')}`;
}
