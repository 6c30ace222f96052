/**
 * The sandbox network: a messaging network in one process, with virtual phones. Instances connect to it over
 * a real connection, testers over a control API (ERR-20).
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { limitTransfers, type TransferLimits } from '@posthorn/core/platform/http/transfer-limits.ts';
import { listenFault } from '@posthorn/core/platform/listen-fault.ts';
import { WebSocketServer } from 'ws';
import { callRoutes } from './control/call-routes.ts';
import { CDN_PATH, serveCdn } from './control/cdn-http.ts';
import { cloudRoutes, GRAPH_PATH, serveGraph } from './control/cloud-routes.ts';
import { deviceRoutes } from './control/device-routes.ts';
import { groupRoutes } from './control/group-routes.ts';
import { createGuard, type Guard } from './control/guard.ts';
import { type Route, serveControl } from './control/http.ts';
import { networkRoutes } from './control/network-routes.ts';
import { phoneActions } from './control/phone-actions.ts';
import { phoneRoutes } from './control/phone-routes.ts';
import { socialRoutes } from './control/social-routes.ts';
import { createFaultBook } from './faults/fault-book.ts';
import { createGraph, type Graph } from './graph/server.ts';
import { type SandboxLog, silentLog } from './log.ts';
import { serveConnection } from './sessions/connection.ts';
import { createPairingDesk } from './sessions/pairing.ts';
import { createOutbox, type Outbox } from './sessions/send-buffer.ts';
import { cutSession, endSession } from './state/account-session.ts';
import { createCdn } from './state/cdn.ts';
import { createKept } from './state/forget.ts';
import { journalPath, makeDataDir, noJournal, openJournal } from './state/journal.ts';
import { createLedger } from './state/ledger.ts';
import { initialDefaults, type Session } from './state/model.ts';
import { restoreWorld, resumeWorld } from './state/restore.ts';
import type { World } from './state/world.ts';

export interface SandboxOptions {
  /** 0 or absent picks a free one. */
  port?: number;
  host?: string;
  /** Host names, besides those of this machine, that requests to the control API may use. */
  allowedHosts?: readonly string[];
  /** Instances pair automatically, with a fresh number, shortly after their QR is shown. Default true. */
  autoPair?: boolean;
  autoPairDelayMs?: number;
  /**
   * The folder in which accounts, messages and ledger survive a restart; without it they are in memory only.
   */
  dataDir?: string;
  compactAboveBytes?: number;
  /** The number of newest messages it keeps, besides those in transit; default 20,000. */
  keepMessages?: number;
  qrTtlMs?: number;
  codeTtlMs?: number;
  log?: SandboxLog;
  /** How slow HTTP clients may be. */
  transfers?: TransferLimits;
}

export interface SandboxServer {
  /** For the driver: `ws://host:port/ws`. */
  url: string;
  /** For the tester: `http://host:port`. */
  controlUrl: string;
  port: number;
  /** Ends all sessions, writes the journal and stops. Idempotent. */
  close(): Promise<void>;
}

const KEEP_MESSAGES = 20_000;
const HEARTBEAT_MS = 30_000;
/**
 * Longer than clients keep idle connections, so that they close them first: closing one here while a request
 * is in transit would lose that request.
 */
const HTTP_OPTIONS = { connectionsCheckingInterval: 1_000, keepAliveTimeout: 72_000 };
const TRANSFERS: TransferLimits = { graceMs: 15_000, minBytesPerS: 16 * 1024 };
const MAX_FRAME_BYTES = 8 * 1024 * 1024;

/** Starts the network. Rejects if the port is taken or the data folder cannot be read. */
export async function createSandboxServer(options: SandboxOptions = {}): Promise<SandboxServer> {
  const log = options.log ?? silentLog;
  const sessions = new Set<Session>();
  const outbox: Outbox = createOutbox({ journal: () => world.journal, world: () => world, log });
  const world = createWorld(options, log, outbox);
  const http = createServer(HTTP_OPTIONS, answerStarting);
  limitTransfers(http, {
    ...(options.transfers ?? TRANSFERS),
    timeoutAnswer: () => ({ error_code: 'REQUEST_TIMEOUT', message: 'the request took too long to arrive' }),
  });
  const host = options.host ?? '127.0.0.1';
  const guard = createGuard({ host, allowedHosts: options.allowedHosts ?? [] });
  // The port is the lock: without it, this process must not touch another one's journal.
  const port = await listen(http, options.port ?? 0, host);
  try {
    if (options.dataDir) await openWorld(world, options.dataDir, options, outbox.schedule);
  } catch (error) {
    http.close();
    throw error;
  }
  const desk = createPairingDesk(world, {
    qrTtlMs: options.qrTtlMs ?? 20_000,
    codeTtlMs: options.codeTtlMs ?? 180_000,
    autoPairAfterMs: options.autoPair === false ? null : (options.autoPairDelayMs ?? 300),
  });

  let controlUrl = '';
  const graph = createGraph({ baseUrl: () => `${controlUrl}${GRAPH_PATH}` });
  const routes = [
    ...cloudRoutes(graph),
    ...phoneRoutes(world),
    ...phoneActions(world),
    ...deviceRoutes(world),
    ...groupRoutes(world),
    ...socialRoutes(world),
    ...callRoutes(world),
    ...networkRoutes(world, desk, sessions),
  ];
  http.off('request', answerStarting).on('request', answering({ world, guard, graph, routes, log }));
  const sockets = new WebSocketServer({
    server: http,
    path: '/ws',
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    verifyClient: ({ req }, answer) => answer(guard.refuseOrigin(req) === null, 403),
  });
  sockets.on('connection', (socket) => {
    sessions.add(serveConnection({ world, desk }, socket, (session) => sessions.delete(session)));
  });
  const heartbeat = setInterval(() => pingAll(sessions), HEARTBEAT_MS);
  heartbeat.unref();

  const reachable = reachableOf(host);
  controlUrl = `http://${reachable}:${port}`;
  log.info({ port }, 'sandbox network listens');

  let closing: Promise<void> | undefined;
  async function closeAll() {
    clearInterval(heartbeat);
    graph.close();
    world.isClosed = true;
    for (const session of sessions) endSession(world, session, 'shutting_down');
    outbox.stop();
    world.journal.close();
    const closed = new Promise((resolve) => http.close(resolve));
    sockets.close();
    http.closeAllConnections();
    // Cuts connections that do not answer the closing handshake within a moment.
    const cut = setTimeout(() => [...sessions].forEach(cutSession), 500);
    await closed;
    clearTimeout(cut);
    world.cdn.close();
  }
  return {
    url: `ws://${reachable}:${port}/ws`,
    controlUrl,
    port,
    close: () => (closing ??= closeAll()),
  };
}

/** An empty network. */
function createWorld(options: SandboxOptions, log: SandboxLog, outbox: Outbox): World {
  const world: World = {
    phones: new Map(),
    groups: new Map(),
    lids: new Map(),
    cdn: createCdn(options.dataDir),
    accountsByToken: new Map(),
    ledger: createLedger(),
    kept: createKept(options.keepMessages ?? KEEP_MESSAGES),
    journal: noJournal,
    faults: createFaultBook(),
    log,
    defaults: initialDefaults,
    wake: outbox.wake,
    flush: outbox.flush,
    isClosed: false,
    later(ms, task) {
      const timer = setTimeout(() => {
        if (!world.isClosed) task();
      }, ms);
      timer.unref();
    },
  };
  return world;
}

async function openWorld(
  world: World,
  dataDir: string,
  { compactAboveBytes = 32 * 1024 * 1024 }: SandboxOptions,
  schedule: () => void,
): Promise<void> {
  makeDataDir(dataDir);
  const path = journalPath(dataDir);
  await restoreWorld(world, path, compactAboveBytes);
  world.journal = openJournal(path, schedule);
  resumeWorld(world);
}

/** The host by which this machine reaches the server. */
function reachableOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** Answers requests, by the first part of their path. */
function answering(deps: {
  world: World;
  guard: Guard;
  graph: Graph;
  routes: readonly Route[];
  log: SandboxLog;
}) {
  const { world, guard, graph, routes, log } = deps;
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url?.startsWith(`${GRAPH_PATH}/`)) serveGraph({ graph, guard }, request, response);
    else if (request.url?.startsWith(CDN_PATH)) void serveCdn({ world, guard }, request, response);
    else void serveControl({ routes, guard, beforeReply: world.flush, log }, request, response);
  };
}

/** Answers while the journal is being read: the port is taken, but nothing else is ready. */
function answerStarting(_request: IncomingMessage, response: ServerResponse) {
  response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' });
  response.end('{"error_code":"SERVICE_UNAVAILABLE","message":"the sandbox is starting"}');
}

/** Cuts sessions that did not answer the last ping, and pings the others. */
function pingAll(sessions: ReadonlySet<Session>) {
  for (const session of sessions) {
    if (!session.heard) cutSession(session);
    else {
      session.heard = false;
      session.socket.ping();
    }
  }
}

function listen(http: ReturnType<typeof createServer>, port: number, host: string): Promise<number> {
  const listening = new Promise<number>((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, () => {
      http.off('error', reject);
      resolve((http.address() as AddressInfo).port);
    });
  });
  return listening.catch(listenFault({ host, port }, { host: 'SANDBOX_HOST', port: 'SANDBOX_PORT' }));
}
