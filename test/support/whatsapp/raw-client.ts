import './library-timers.ts';
import { Agent } from 'node:https';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import type { WhatsAppNetwork } from './network.ts';
import type { WireMessage } from './nodes.ts';
import { until } from './phone-handle.ts';

/**
 * The library itself as a client of the simulated network, without our driver: it proves the network with code that was
 * not written together with it.
 */

export interface RawMessage {
  key: { remoteJid: string; fromMe: boolean; id: string; participant?: string };
  message: WireMessage | null;
  status?: number | null;
  pushName?: string | null;
}

interface RawSocket {
  ev: { on(event: string, listener: (data: never) => void): void };
  user?: { id: string; lid?: string };
  sendMessage(jid: string, content: WireMessage, options?: WireMessage): Promise<unknown>;
  relayMessage(jid: string, message: WireMessage, options: WireMessage): Promise<string>;
  readMessages(keys: readonly RawMessage['key'][]): Promise<void>;
  requestPairingCode(phone: string): Promise<string>;
  onWhatsApp(...phones: string[]): Promise<{ jid: string; exists: boolean }[]>;
  groupCreate(
    subject: string,
    members: readonly string[],
  ): Promise<{ id: string; participants: { id: string }[] }>;
  groupMetadata(
    jid: string,
  ): Promise<{ subject: string; participants: { id: string; admin: string | null }[] }>;
  sendPresenceUpdate(type: string, jid?: string): Promise<void>;
  chatModify(change: WireMessage, jid: string): Promise<void>;
  end(error: Error | undefined): void;
}

interface RawLibrary {
  makeWASocket(config: Record<string, unknown>): RawSocket;
  initAuthCreds(): Record<string, unknown>;
  BufferJSON: {
    replacer: (key: string, value: unknown) => unknown;
    reviver: (key: string, value: unknown) => unknown;
  };
  proto: { Message: { AppStateSyncKeyData: { fromObject(value: unknown): unknown } } };
}

/** The data that a client keeps between its logins. */
export interface RawState {
  creds: Record<string, unknown>;
  /** By `type id`, written as the library writes its files. */
  values: Map<string, string>;
}

export interface RawClient {
  socket: RawSocket;
  messages: RawMessage[];
  /** Changes of the state of messages, by id. */
  statuses: { id: string; status: number; from: string }[];
  presences: WireMessage[];
  qrs: string[];
  calls: WireMessage[];
  /** Whether the connection is open: the client has accepted the network's key and certificates. */
  isOpen(): boolean;
  opened(): Promise<void>;
  /** The status code with which the connection ended. */
  closed(): Promise<number>;
  message(id: string): Promise<RawMessage>;
  close(): Promise<void>;
}

const silent = {
  level: 'silent',
  child: () => silent,
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: (...args: unknown[]) => report('warn', args),
  error: (...args: unknown[]) => report('error', args),
};

/** `WHATSAPP_TEST_LOG=1` shows the library's complaints: the only way to see why it closed a connection. */
function report(level: string, args: unknown[]): void {
  if (process.env.WHATSAPP_TEST_LOG) console.error(level, ...args);
}

export async function newState(): Promise<RawState> {
  const library = await rawLibrary();
  return { creds: library.initAuthCreds(), values: new Map() };
}

export async function connectRaw(network: WhatsAppNetwork, state: RawState): Promise<RawClient> {
  const library = await loadLibrary();
  trustRoot(library, network.trustedRoot);
  const raw = await rawLibrary();
  const socket = raw.makeWASocket({
    waWebSocketUrl: network.url,
    auth: { creds: state.creds, keys: keysOf(raw, state) },
    logger: silent,
    markOnlineOnConnect: false,
    retryRequestDelayMs: 10,
    connectTimeoutMs: 5_000,
    fetchAgent: new Agent({ ca: network.ca }),
    getMessage: async () => undefined,
  });
  const client = collect(socket);
  return client;
}

/** Pairs a fresh client with a phone by its QR code, and logs it in. */
export async function pairRaw(
  network: WhatsAppNetwork,
  scan: (qr: string) => void,
): Promise<[RawClient, RawState]> {
  const state = await newState();
  const first = await connectRaw(network, state);
  scan(await until(() => first.qrs[0], 'a QR code'));
  const code = await first.closed();
  if (code !== 515) throw new Error(`The pairing ended with ${code}`);
  const client = await connectRaw(network, state);
  await client.opened();
  return [client, state];
}

function collect(socket: RawSocket): RawClient {
  let isOpen = false;
  let ended: number | null = null;
  const client: RawClient = {
    socket,
    messages: [],
    statuses: [],
    presences: [],
    qrs: [],
    calls: [],
    isOpen: () => isOpen,
    opened: async () => {
      await until(() => {
        if (ended !== null) throw new Error(`The connection ended with ${ended}`);
        return isOpen;
      }, 'the client is logged in');
    },
    closed: () => until(() => ended, 'the connection ends'),
    message: (id) =>
      until(() => client.messages.find(({ key, message }) => key.id === id && message), `message ${id}`),
    close: async () => {
      if (ended !== null) return;
      socket.end(undefined);
      await until(() => ended !== null, 'the client closes');
    },
  };
  const on = <T>(event: string, listener: (data: T) => void) => socket.ev.on(event, listener as never);
  on<{ connection?: string; qr?: string; lastDisconnect?: { error?: { output?: { statusCode: number } } } }>(
    'connection.update',
    ({ connection, qr, lastDisconnect }) => {
      if (qr) client.qrs.push(qr);
      if (connection === 'open') isOpen = true;
      if (connection === 'close') ended = lastDisconnect?.error?.output?.statusCode ?? 0;
    },
  );
  on<{ messages: RawMessage[] }>('messages.upsert', ({ messages }) => {
    client.messages.push(...messages);
    // A status that the library has before the message itself comes with the message.
    for (const { key, status } of messages)
      if (status) client.statuses.push({ id: key.id, status, from: key.remoteJid });
  });
  on<{ key: RawMessage['key']; update: { status?: number } }[]>('messages.update', (updates) => {
    for (const { key, update } of updates) {
      if (update.status) client.statuses.push({ id: key.id, status: update.status, from: key.remoteJid });
    }
  });
  on<{ key: RawMessage['key']; receipt: WireMessage }[]>('message-receipt.update', (updates) => {
    for (const { key, receipt } of updates) {
      client.statuses.push({
        id: key.id,
        status: receipt.readTimestamp ? 4 : 3,
        from: String(receipt.userJid),
      });
    }
  });
  on<WireMessage>('presence.update', (presence) => client.presences.push(presence));
  on<WireMessage[]>('call', (calls) => client.calls.push(...calls));
  return client;
}

async function rawLibrary(): Promise<RawLibrary> {
  return (await loadLibrary()) as unknown as RawLibrary;
}

function keysOf(library: RawLibrary, { values }: RawState) {
  const { replacer, reviver } = library.BufferJSON;
  return {
    get: async (type: string, ids: readonly string[]) => {
      const found: Record<string, unknown> = {};
      for (const id of ids) {
        const written = values.get(`${type} ${id}`);
        if (written === undefined) continue;
        const value: unknown = JSON.parse(written, reviver);
        found[id] =
          type === 'app-state-sync-key' ? library.proto.Message.AppStateSyncKeyData.fromObject(value) : value;
      }
      return found;
    },
    set: async (data: Record<string, Record<string, unknown>>) => {
      for (const [type, entries] of Object.entries(data)) {
        for (const [id, value] of Object.entries(entries)) {
          if (value === null || value === undefined) values.delete(`${type} ${id}`);
          else values.set(`${type} ${id}`, JSON.stringify(value, replacer));
        }
      }
    },
  };
}
