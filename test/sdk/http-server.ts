import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '../support/listen.ts';

export interface SeenRequest {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface HttpServer {
  url: string;
  /** Every request so far, in order of arrival. */
  seen: SeenRequest[];
  /** The number of open connections. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

export type Answer = (res: ServerResponse, request: SeenRequest, index: number) => void | Promise<void>;

/** Longer than clients keep idle connections: ended here, one might have a request on its way. */
const KEEP_ALIVE_MS = 72_000;

/** A server, on a free port unless one is named, that handles each request as the test says, faults included. */
export async function startHttp(answer: Answer, port = 0): Promise<HttpServer> {
  const seen: SeenRequest[] = [];
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, async (req, res) => {
    const { method = '', url = '', headers } = req;
    const request = { method, url, headers, body: await text(req).catch(() => '') };
    seen.push(request);
    await answer(res, request, seen.length - 1);
  });
  return {
    url: `http://127.0.0.1:${await listen(server, port)}`,
    seen,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export function json(res: ServerResponse, status: number, body: unknown, headers = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(JSON.stringify(body));
}

/** An error as the service writes it (ERR-2). */
export function refuse(res: ServerResponse, status: number, code: string, extra = {}, headers = {}): void {
  const message = code.toLowerCase().replaceAll('_', ' ');
  json(res, status, { ...extra, error_code: code, message, trace_id: TRACE_ID, error: message }, headers);
}

export const TRACE_ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
