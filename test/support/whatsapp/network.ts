import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { listen } from '../listen.ts';
import { Connection } from './connection.ts';
import { announceChange, createGroup, describe } from './groups.ts';
import type { LinkedDevice } from './linked-device.ts';
import { type MediaServer, startMediaServer } from './media-server.ts';
import { loadCoding, node } from './nodes.ts';
import { type CertificateFault, createIdentity } from './noise.ts';
import { Phone } from './phone.ts';
import { PhoneHandle } from './phone-handle.ts';
import { type Faults, type Group, type LedgerEntry, seconds, type World } from './world.ts';

/**
 * The network on the other side of the WhatsApp driver, simulated at the level of its protocol: WebSocket, Noise
 * handshake, sealed frames, pairing, and phones with real Signal sessions, so that the driver's messages are really
 * decrypted. The coder of stanzas and messages is the library's; all cryptography is our own.
 */
export interface WhatsAppNetwork {
  /** Where clients connect to. */
  url: string;
  /** Host and port of the media server. */
  mediaHost: string;
  /** PEM of the media server's authority. */
  ca: string;
  /** The public key that signs the servers' certificates; a client must be told to trust it. */
  trustedRoot: Buffer;
  /** The media server. Its `takesFrom` also decides which connections the network itself takes. */
  media: MediaServer;
  /** Makes a phone; a number that has one already is an error. */
  phone(number: string, name?: string): PhoneHandle;
  /** Deletes an account; somebody else can have its number then, with another anonymous id. */
  deleteAccount(phone: PhoneHandle): void;
  /** The handle of an existing phone; a number that has none is an error. */
  handleOf(number: string): PhoneHandle;
  group(
    owner: PhoneHandle,
    subject: string,
    members: readonly PhoneHandle[],
    addressing?: 'pn' | 'lid',
  ): Group;
  readonly ledger: readonly LedgerEntry[];
  /** Faults that the network has seen; see `World.problems`. */
  readonly problems: readonly string[];
  readonly unknownQuestions: readonly string[];
  faults: Faults;
  control: Control;
  world: World;
  close(): Promise<void>;
}

/** Actions of the network on a device that is logged in. */
export interface Control {
  /** Another login has taken its place. */
  kick(device: LinkedDevice): void;
  /** The phone has unlinked it. */
  logout(device: LinkedDevice): void;
  /** The number may not use the network any more. */
  ban(device: LinkedDevice): void;
  /** Ends the stream with a code, such as 515 (log in again) or 503. */
  streamError(device: LinkedDevice, code: number): void;
  /** Cuts the line. */
  drop(device: LinkedDevice): void;
  /** Cuts all lines, also those that are not logged in yet. */
  dropAll(): void;
  /** Sends the acks that were held back, and stops holding them back. */
  releaseAcks(device: LinkedDevice): void;
  /** Tells a device that so many of its prekeys are left. */
  runLowOnPreKeys(device: LinkedDevice, left: number): void;
}

export interface NetworkOptions {
  certificate?: CertificateFault;
  port?: number;
}

export async function startWhatsAppNetwork(options: NetworkOptions = {}): Promise<WhatsAppNetwork> {
  const coding = await loadCoding();
  const media = await startMediaServer();
  const faults: Faults = {
    failLogin: null,
    oldestVersion: null,
    page: null,
    onMessage: null,
    pairing: null,
    preKeys: null,
    devices: null,
    beforePatch: null,
    ignoresRejections: false,
    namesLid: null,
    groupQuestions: null,
    timeLock: null,
    hidesMediaServers: 0,
    leavesOut: null,
  };
  const world: World = {
    coding,
    identity: createIdentity(undefined, options.certificate),
    media,
    phones: new Map(),
    lids: new Map(),
    groups: new Map(),
    ledger: [],
    problems: [],
    unknownQuestions: [],
    tokensGiven: [],
    waiting: new Map(),
    faults,
    appState: new Map(),
  };
  const http = createServer(({ url }, response) => {
    if (url === '/sw.js' && faults.page !== null) response.end(faults.page);
    else response.writeHead(426).end();
  });
  const sockets = new WebSocketServer({ server: http, path: '/ws/chat' });
  const connections = new Set<Connection>();
  sockets.on('connection', (socket, request) => {
    if (media.takesFrom && !media.takesFrom(request.socket.remotePort ?? 0)) {
      media.refusals += 1;
      socket.terminate();
      return;
    }
    const connection = new Connection(world, socket);
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  });
  const port = await listen(http, options.port);
  return {
    url: `ws://127.0.0.1:${port}/ws/chat`,
    mediaHost: media.host,
    ca: media.ca,
    trustedRoot: world.identity.root.public,
    media,
    phone: (number, name) => addPhone(world, number, name),
    deleteAccount: ({ number, phone }) => {
      world.phones.delete(number);
      world.lids.delete(phone.lidUser);
    },
    handleOf: (number) => {
      const phone = world.phones.get(number);
      if (!phone) throw new Error(`Nobody has ${number}`);
      return new PhoneHandle(world, phone);
    },
    group: (owner, subject, members, addressing) => {
      const phones = members.map((member) => member.phone);
      const group = createGroup(world, owner.phone, subject, phones, addressing);
      announceChange(group, owner.phone, node('create', {}, [describe(group)]));
      return group;
    },
    ledger: world.ledger,
    problems: world.problems,
    unknownQuestions: world.unknownQuestions,
    faults,
    control: controlOf(world, connections),
    world,
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
      await media.close();
    },
  };
}

function addPhone(world: World, number: string, name?: string): PhoneHandle {
  if (world.phones.has(number)) throw new Error(`Phone ${number} is there already`);
  const phone = new Phone(number, name);
  world.phones.set(number, phone);
  world.lids.set(phone.lidUser, phone);
  return new PhoneHandle(world, phone);
}

function controlOf(world: World, connections: ReadonlySet<Connection>): Control {
  const remove = (device: LinkedDevice) => {
    device.isLoggedOut = true;
    world.phones.get(device.number)?.devices.delete(device.id);
  };
  return {
    kick: (device) =>
      device.connection?.end(node('stream:error', {}, [node('conflict', { type: 'replaced' })])),
    logout: (device) => {
      remove(device);
      device.connection?.end(
        node('stream:error', { code: '401' }, [node('conflict', { type: 'device_removed' })]),
      );
    },
    ban: (device) => {
      world.phones.get(device.number)!.isBanned = true;
      device.connection?.end(node('failure', { reason: '406', location: 'rva' }));
    },
    streamError: (device, code) => device.connection?.end(node('stream:error', { code: String(code) })),
    drop: (device) => device.connection?.cut(),
    dropAll: () => {
      for (const connection of connections) connection.cut();
    },
    releaseAcks: (device) => {
      device.holdsAcks = false;
      for (const ack of device.heldAcks.splice(0)) device.connection?.send(ack);
    },
    runLowOnPreKeys: (device, left) => {
      device.preKeys.splice(left);
      const attrs = {
        from: '@s.whatsapp.net',
        id: randomBytes(6).toString('hex'),
        t: seconds(),
        type: 'encrypt',
      };
      device.deliver(node('notification', attrs, [node('count', { value: String(left) })]));
    },
  };
}
