import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as afterPolling, setTimeout as delay } from 'node:timers/promises';

/** Closes an HTTP server without cutting off any client that is owed an answer. */
export interface HttpServerCloser {
  /**
   * Resolves when no new connection is accepted any more: a client that is turned away then reconnects elsewhere.
   */
  stopListening(): Promise<void>;
  /** Stops listening, and resolves when every connection has ended, each after the answer that was under way. */
  close(): Promise<void>;
}

/** A request may be on its way over a connection that is idle so far: it is read for this long. */
const LAST_CALL_MS = 100;
/** A connection that becomes idle only after the close began (its answer was sent) is closed this soon. */
const SWEEP_MS = 25;
/** Longer than a request on its way needs to arrive; then a silent connection is closed. */
const SILENT_MAX_MS = 1_000;

/**
 * To be created with the server, because connections are counted from the first one on. Node closes those that are
 * idle after an answer; one that was opened and never used (browsers and pools open them ahead) counts as active
 * there and would delay the end until its timeout.
 */
export function createHttpServerCloser(server: Server): HttpServerCloser {
  const connections = new Set<Socket>();
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  let ended = Promise.resolve();
  let stopping: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  async function stop(): Promise<void> {
    await delay(LAST_CALL_MS);
    // A late timer runs before data that arrived meanwhile is read.
    await afterPolling();
    // Closes idle connections as well. An error means that it does not listen, so nobody is connected either.
    ended = new Promise((resolve) => server.close(() => resolve()));
  }

  const stopListening = () => (stopping ??= stop());

  async function close(): Promise<void> {
    await stopListening();
    const begunAtMs = performance.now();
    const sweep = setInterval(() => {
      server.closeIdleConnections();
      if (performance.now() - begunAtMs < SILENT_MAX_MS) return;
      for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
    }, SWEEP_MS);
    await ended.finally(() => clearInterval(sweep));
  }

  return { stopListening, close: () => (closing ??= close()) };
}
