import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { areOurs, type SeenAnswer } from './watch-fetch.ts';

interface UndiciMessage {
  request: { method: string; path: string };
  /** Names and values in turn. */
  response: { statusCode: number; headers: readonly Buffer[] };
}

type HeaderOf = (name: string) => string | undefined;

/**
 * Reports every answer that this process gets from a server of ours over Node's HTTP or undici, without its body: for
 * tests that need more control of a connection than `fetch` gives.
 */
export function watchConnections(tell: (answer: SeenAnswer) => void): void {
  const look = ({ method, path }: UndiciMessage['request'], status: number, headerOf: HeaderOf) => {
    if (!areOurs(headerOf)) return;
    tell({
      method,
      path: path.split('?', 1)[0]!,
      status,
      type: headerOf('content-type') ?? '',
      retryAfter: headerOf('retry-after') ?? '',
    });
  };
  subscribe('http.client.response.finish', (message) => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
    look(request, response.statusCode ?? 0, (name) => response.headers[name] as string | undefined);
  });
  subscribe('undici:request:headers', (message) => {
    const { request, response } = message as UndiciMessage;
    const { headers, statusCode } = response;
    look(request, statusCode, (name) => {
      const at = headers.findIndex((part, nth) => nth % 2 === 0 && String(part).toLowerCase() === name);
      return at < 0 ? undefined : String(headers[at + 1]);
    });
  });
}
