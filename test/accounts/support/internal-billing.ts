import { once } from 'node:events';
import { createServer } from 'node:http';
import { listen } from '../../support/listen.ts';

/** Serves billing's internal API (core/accounts/company/billing-client.ts), and fails on demand. */
export interface InternalBilling {
  url: string;
  secret: string;
  /** Company ids whose subscriptions were cancelled, one entry a call. */
  cancelled: number[];
  /** How many subscriptions a company has that are not cancelled yet. */
  subscriptions: Map<number, number>;
  answerWith(status: number | null): void;
  close(): Promise<void>;
}

export async function startInternalBilling(): Promise<InternalBilling> {
  const secret = 'an internal secret, as long as it has to be';
  const cancelled: number[] = [];
  const subscriptions = new Map<number, number>();
  let broken: number | null = null;
  const server = createServer((request, response) => {
    const match = /^\/internal\/v1\/companies\/(\d+)\/cancel-subscriptions$/.exec(request.url ?? '');
    if (request.method !== 'POST' || !match) return void response.writeHead(404).end();
    if (request.headers['x-internal-secret'] !== secret) return void response.writeHead(401).end();
    if (broken !== null) return void response.writeHead(broken).end();
    const companyId = Number(match[1]);
    const count = subscriptions.get(companyId) ?? 0;
    subscriptions.set(companyId, 0);
    cancelled.push(companyId);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ cancelled: count }));
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    secret,
    cancelled,
    subscriptions,
    answerWith: (status) => {
      broken = status;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
