import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listenFault } from '../listen-fault.ts';
import type { Metrics } from '../process/metrics.ts';
import { type Check, checkReadiness } from '../process/readiness.ts';
import { createHttpServerCloser } from './close-http-server.ts';
import type { MetricsAccess } from './metrics-access.ts';
import { limitTransfers } from './transfer-limits.ts';

/** Nobody has reason to send anything here. */
const TRANSFER_GRACE_MS = 5_000;
const TRANSFER_MIN_BYTES_PER_S = 16 * 1024;

/** Idle connections are kept longer than whoever asks regularly keeps them: the client ends them first. */
const OPTIONS = { connectionsCheckingInterval: 1_000, keepAliveTimeout: 72_000 };

export interface HealthServer {
  port: number;
  close(): Promise<void>;
}

/**
 * /health, /ready and /metrics of a process that serves nothing else (ERR-13). `port` 0 takes a free
 * one. Rejects when the port is taken.
 */
export async function startHealthServer(options: {
  /** The role, e.g. `worker`. */
  service: string;
  host: string;
  port: number;
  checks: Readonly<Record<string, Check>>;
  isDraining: () => boolean;
  metrics: Metrics;
  mayReadMetrics: MetricsAccess;
}): Promise<HealthServer> {
  const { service, metrics } = options;

  async function answer(request: IncomingMessage): Promise<{ status: number; type: string; body: string }> {
    const json = (status: number, body: object) => ({
      status,
      type: 'application/json; charset=utf-8',
      body: JSON.stringify(body),
    });
    switch ((request.url ?? '').split('?')[0]) {
      case '/health':
        return json(200, { status: 'ok', service });
      case '/ready': {
        const { ready, checks } = await checkReadiness(options);
        return json(ready ? 200 : 503, { status: ready ? 'ready' : 'unavailable', service, checks });
      }
      case '/metrics':
        if (!options.mayReadMetrics(request)) return json(401, { status: 'unauthorized', service });
        return { status: 200, type: metrics.contentType, body: await metrics.read() };
      default:
        return json(404, { status: 'not found', service });
    }
  }

  const server = createServer(OPTIONS, (request, response) => {
    answer(request).then(
      ({ status, type, body }) => {
        if (options.isDraining()) response.setHeader('connection', 'close');
        response
          .writeHead(status, {
            'content-type': type,
            'cache-control': 'no-store',
            'x-content-type-options': 'nosniff',
          })
          .end(body);
      },
      () => response.writeHead(500).end(),
    );
  });
  const closer = createHttpServerCloser(server);
  limitTransfers(server, {
    graceMs: TRANSFER_GRACE_MS,
    minBytesPerS: TRANSFER_MIN_BYTES_PER_S,
    timeoutAnswer: () => ({ status: 'request timeout', service }),
  });
  server.listen(options.port, options.host);
  await once(server, 'listening').catch(listenFault(options, { host: 'HOST', port: 'WORKER_PORT' }));
  return {
    port: (server.address() as AddressInfo).port,
    close: closer.close,
  };
}
