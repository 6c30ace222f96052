import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen } from './listen.ts';

/** A load balancer that knows of its servers only their /ready, and never tries a request again. */
export interface Balancer {
  url: string;
  /** Looks after one more server from now on. */
  add(target: string): void;
  /** Whether requests go to that server now. */
  isIn(target: string): boolean;
  /** Requests that it could not pass on, or lost half-way: one line each. */
  readonly failures: string[];
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 200;
const LOOK_TIMEOUT_MS = 2_000;
/** Longer than clients keep idle connections: ended here, one might have a request on its way. */
const KEEP_ALIVE_MS = 72_000;
/** Silent looks before a server counts as out; an answer that refuses, and a refused connection, count at once. */
const SILENT_LOOKS = 3;

/**
 * Passes requests to the `targets` in turn over connections that it keeps, as nginx and HAProxy do. A target is in
 * while `/ready` answers 200 and its `status` does not say that it drains, which is the only sign that billing gives;
 * one that is merely slow to answer stays in for a while. Requests that cannot be passed on are answered with 502.
 */
export async function startBalancer(targets: readonly string[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true });
  const inTurn = new Set<string>();
  const failures: string[] = [];
  let turn = 0;
  const silent = new Map<string, number>();
  const looking = new Set<string>();
  let wentOut = '';

  /** One look at a time: an older "ready" that is slow to come would overtake a newer "draining". */
  async function look(target: string): Promise<void> {
    if (looking.has(target)) return;
    looking.add(target);
    try {
      const answer = await fetch(`${target}/ready`, { signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) });
      const text = await answer.text();
      silent.delete(target);
      if (answer.ok && JSON.parse(text).status !== 'draining') inTurn.add(target);
      else takeOut(target, `${answer.status} ${text}`);
    } catch (err) {
      const looks = (silent.get(target) ?? 0) + 1;
      silent.set(target, looks);
      if ((err as Error).name !== 'TimeoutError' || looks >= SILENT_LOOKS) takeOut(target, String(err));
    } finally {
      looking.delete(target);
    }
  }

  function takeOut(target: string, why: string): void {
    if (inTurn.delete(target)) wentOut = `${target}: ${why}`;
  }

  function pass(incoming: IncomingMessage, response: ServerResponse): void {
    const ready = [...inTurn];
    const target = ready[turn++ % ready.length];
    const fail = (why: string) => {
      failures.push(`${incoming.method} ${incoming.url} at ${target}: ${why}`);
      if (response.headersSent) response.destroy();
      else
        response.writeHead(502, { 'content-type': 'application/json' }).end('{"error_code":"BAD_GATEWAY"}');
    };
    if (target === undefined) {
      fail(`no server is ready; the last one to go was ${wentOut}`);
      return;
    }
    const { connection: _, ...headers } = incoming.headers;
    const outgoing = request(
      `${target}${incoming.url}`,
      { method: incoming.method, headers, agent },
      (answer) => {
        const { connection: __, ...answered } = answer.headers;
        response.writeHead(answer.statusCode!, answered);
        answer.once('error', (err) => fail(`${err.message} in the middle of the answer`));
        answer.pipe(response);
      },
    );
    outgoing.once('error', (err) => fail(err.message));
    response.once('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  }

  await Promise.all(targets.map(look));
  const timers: NodeJS.Timeout[] = [];
  const add = (target: string) => void timers.push(setInterval(() => void look(target), LOOK_EVERY_MS));
  targets.forEach(add);
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, pass);
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    add,
    isIn: (target) => inTurn.has(target),
    failures,
    async close() {
      for (const timer of timers) clearInterval(timer);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      agent.destroy();
    },
  };
}
