import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { listen } from '../support/listen.ts';
import { json, refuse } from './http-server.ts';

/** The fault of one request: whether the service gets it, and how its answer reaches the client. */
export type Fault =
  | 'none'
  | '429'
  | '503'
  | 'reset before'
  | 'reset after'
  | 'hang'
  | 'cut body'
  | 'HTML instead'
  | '503 after';

export interface FaultyServer {
  url: string;
  /** The faults of the next requests, in this order; later requests pass. */
  plan: Fault[];
  close(): Promise<void>;
}

/** Longer than clients keep idle connections: ended here, one might have a request on its way. */
const KEEP_ALIVE_MS = 72_000;

/** A server in front of the service that passes requests and streams on, except for the planned faults. */
export async function startFaultyServer(target: string): Promise<FaultyServer> {
  const plan: Fault[] = [];
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    pass(request, response, target, plan.shift()).catch(() => response.destroy());
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    plan,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function pass(
  request: IncomingMessage,
  response: ServerResponse,
  target: string,
  fault: Fault | undefined,
): Promise<void> {
  const body = await buffer(request);
  if (fault === '429') return refuse(response, 429, 'RATE_LIMITED', {}, { 'retry-after': '0' });
  if (fault === '503') return refuse(response, 503, 'SERVICE_UNAVAILABLE', {}, { 'retry-after': '0' });
  if (fault === 'reset before') return void request.socket.resetAndDestroy();
  const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
  const answer = await fetch(`${target}${request.url}`, {
    method: request.method ?? 'GET',
    headers: headers as Record<string, string>,
    ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
  });
  if (answer.body && answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    response.writeHead(answer.status, { 'content-type': 'text/event-stream' });
    return pipeline(answer.body, response);
  }
  const text = await answer.text();
  if (fault === 'hang') return;
  if (fault === 'reset after') return void request.socket.resetAndDestroy();
  if (fault === '503 after') return refuse(response, 503, 'SERVICE_UNAVAILABLE');
  if (fault === 'HTML instead')
    return void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>');
  if (fault === 'cut body') {
    response.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': text.length });
    response.write(text.slice(0, text.length / 2));
    return void setTimeout(() => request.socket.destroy(), 20);
  }
  json(response, answer.status, text === '' ? {} : JSON.parse(text));
}
