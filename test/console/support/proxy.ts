import { type ClientRequest, createServer, request } from 'node:http';
import { listen } from '../../support/listen.ts';

/** A proxy in front of the service, which can answer in its place. */
export interface FrontProxy {
  url: string;
  /** Answers all requests with this status from now on; null: passes them on. */
  answer(status: number | null, headers?: Record<string, string>): void;
  /** Passes requests to such a path on, and loses the answers; null: loses none. */
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
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
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
