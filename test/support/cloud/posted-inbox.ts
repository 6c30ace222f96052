import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { NetworkInbox, PostedBody } from '@posthorn/core/network/driver.ts';
import { listen } from '../listen.ts';

/** The inboxes of instances in memory, with a server that the network posts to: the API's part, for tests of the driver. */
export interface PostedInboxes {
  callbackUrl(instanceId: string): string;
  inboxOf(instanceId: string, secrets: { appSecret: string; verifyToken: string }): NetworkInbox;
  close(): Promise<void>;
}

interface Held {
  waiting: PostedBody[];
  lookers: Set<() => void>;
  secrets: { appSecret: string; verifyToken: string };
}

export async function startPostedInboxes(): Promise<PostedInboxes> {
  const held = new Map<string, Held>();
  let seq = 0;
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://inbox');
    const inbox = held.get(url.pathname.slice(1));
    const query = url.searchParams;
    if (!inbox) return void response.writeHead(401).end();
    if (request.method === 'GET') {
      const isOurs = query.get('hub.verify_token') === inbox.secrets.verifyToken;
      return void response.writeHead(isOurs ? 200 : 401).end(query.get('hub.challenge'));
    }
    const body = await buffer(request);
    const expected = createHmac('sha256', inbox.secrets.appSecret).update(body).digest('hex');
    const given = String(request.headers['x-hub-signature-256']).replace('sha256=', '');
    if (!timingSafeEqual(Buffer.from(expected), Buffer.from(given)))
      return void response.writeHead(401).end();
    inbox.waiting.push({ id: String(++seq), body });
    for (const look of inbox.lookers) look();
    response.writeHead(200).end();
  });
  const port = await listen(server);
  return {
    callbackUrl: (instanceId) => `http://127.0.0.1:${port}/${instanceId}`,
    inboxOf(instanceId, secrets) {
      const inbox = held.get(instanceId) ?? { waiting: [], lookers: new Set(), secrets };
      held.set(instanceId, inbox);
      return {
        next: async (limit, except) => inbox.waiting.filter(({ id }) => !except.includes(id)).slice(0, limit),
        done: async (ids) => {
          inbox.waiting = inbox.waiting.filter(({ id }) => !ids.includes(id));
        },
        onArrival(look) {
          inbox.lookers.add(look);
          return () => void inbox.lookers.delete(look);
        },
      };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
