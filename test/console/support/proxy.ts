import { type ClientRequest, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What stands in front of the service, and answers in its place when it is told to. */
export interface FrontProxy {
  url: string;
  /** Answers everything by itself until it is told otherwise; null: passes everything on. */
  answer(status: number | null, headers?: Record<string, string>): void;
  /** Passes requests to such a path on, and loses the answers; null: none. */
  lose(path: RegExp | null): void;
  close(): void;
}

export async function startProxy(target: string): Promise<FrontProxy> {
  const to = new URL(target);
  let own: { status: number; headers: Record<string, string> } | null = null;
  let lost: RegExp | null = null;
  const server = createServer((incoming, outgoing) => {
    if (own) {
      incoming.resume();
      outgoing.writeHead(own.status, own.headers).end();
      return;
    }
    const { method, headers, url } = incoming;
    const isLost = lost?.test(url ?? '') ?? false;
    const passed: ClientRequest = request(
      { host: to.hostname, port: to.port, method, headers, path: url },
      (answer) => {
        if (isLost) {
          answer.resume().on('end', () => outgoing.destroy());
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing).on('error', () => answer.destroy());
        answer.on('error', () => outgoing.destroy());
      },
    );
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer(status, headers = {}) {
      own = status === null ? null : { status, headers };
    },
    lose(path) {
      lost = path;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
