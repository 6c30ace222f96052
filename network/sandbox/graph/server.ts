/** Meta's Cloud API, simulated over real HTTP: what the driver `whatsapp-cloud` is tried on. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import {
  callerOf,
  configureNumber,
  type GraphDeps,
  GraphError,
  Lost,
  locateMedia,
  readNumber,
  subscribeApp,
  takeMessage,
  takeUpload,
} from './answer.ts';
import { type GraphWorld, newWorld, type OfficialNumber, personOf } from './model.ts';
import { readMultipart } from './multipart.ts';
import { createPeople, type GraphPeople } from './people.ts';
import { createPoster, type Poster } from './post.ts';
import { answerTemplates } from './templates.ts';

export interface Graph extends GraphPeople {
  world: GraphWorld;
  poster(number: OfficialNumber): Poster;
  /** Answers one request, whose path begins with the version. */
  answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<void>;
  /** Posts nothing more. */
  close(): void;
}

export interface GraphServer extends Omit<Graph, 'answer' | 'close'> {
  /** For `GRAPH_URL`. */
  url: string;
  close(): Promise<void>;
}

/** The Graph API without a server of its own; `baseUrl` is where it is reached. */
export function createGraph(options: { baseUrl(): string; now?: () => Date; random?: () => number }): Graph {
  const { baseUrl, now = () => new Date(), random = Math.random } = options;
  const world = newWorld();
  const posters = new Map<string, Poster>();
  const poster = (number: OfficialNumber): Poster => {
    const known = posters.get(number.id) ?? createPoster(number, random);
    posters.set(number.id, known);
    return known;
  };
  const deps: GraphDeps = {
    ...{ world, now, random, baseUrl },
    post: (number, posted) => poster(number).push(posted),
  };
  return {
    world,
    poster,
    ...createPeople(deps, poster),
    answer: (request, response, path) => serve(deps, request, response, path),
    close() {
      for (const each of posters.values()) each.close();
    },
  };
}

export async function createGraphServer(
  options: { port?: number; host?: string; now?: () => Date; random?: () => number } = {},
): Promise<GraphServer> {
  const { port = 0, host = '127.0.0.1', ...more } = options;
  let url = '';
  const { answer, close, ...graph } = createGraph({ ...more, baseUrl: () => url });
  const server = createServer((request, response) => void answer(request, response, request.url ?? '/'));
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  url = `http://${host}:${(server.address() as AddressInfo).port}`;
  return {
    url,
    ...graph,
    async close() {
      close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function serve(
  deps: GraphDeps,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  try {
    const answer = await answerTo(deps, request, path);
    if (deps.world.answerDelayMs > 0) await delay(deps.world.answerDelayMs);
    if (Buffer.isBuffer(answer))
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(answer);
    else respond(response, 200, answer);
  } catch (err) {
    if (err instanceof Lost) {
      if (err.how === 'cut') request.socket.destroy();
      else response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
    } else if (err instanceof GraphError) {
      const { code, message, status, subcode: error_subcode } = err;
      const error = { message, type: 'OAuthException', code, error_subcode, fbtrace_id: 'A' };
      respond(response, status, { error });
    } else respond(response, 500, { error: { message: 'unexpected', type: 'Exception', code: 1 } });
  }
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function answerTo(
  deps: GraphDeps,
  request: IncomingMessage,
  path: string,
): Promise<Buffer | Record<string, unknown>> {
  const { world } = deps;
  const { pathname, searchParams } = new URL(path, 'http://graph');
  const [, version = '', id = '', edge] = pathname.split('/').map(decodeURIComponent);
  const body = await buffer(request);
  const number = callerOf(world, request.headers.authorization);
  if (version === 'media') {
    // As the network's own server, which answers with an error page.
    if (!request.headers['user-agent']) throw new Lost('bad_gateway');
    return bytesOf(deps, id);
  }
  const { method } = request;
  if (id === number.businessId) {
    if (edge === 'subscribed_apps') return subscribeApp(world, id, parsed(body));
    if (edge === 'message_templates')
      return answerTemplates(deps, number, {
        ...{ method: method ?? '', query: searchParams },
        body: () => parsed(body),
      });
    const data = [...world.numbers.values()].filter(({ businessId }) => businessId === id);
    if (edge === 'phone_numbers') return { data: data.map((each) => ({ id: each.id })) };
  }
  if (id !== number.id) {
    if (edge === undefined && method === 'GET' && world.media.has(id)) return locateMedia(deps, number, id);
    throw new GraphError(100, `Unsupported request. Object with ID '${id}' does not exist`, 400, 33);
  }
  if (edge === undefined)
    return method === 'GET' ? readNumber(world, number, searchParams) : configureNumber(number, parsed(body));
  if (edge === 'messages') return takeMessage(deps, number, parsed(body));
  if (edge === 'media')
    return takeUpload(deps, number, readMultipart(request.headers['content-type'] ?? '', body));
  if (edge === 'block_users') {
    for (const { user, user_id } of parsed(body).block_users as { user?: string; user_id?: string }[])
      personOf(world, user ?? user_id ?? '').blocked = method === 'POST';
    return { messaging_product: 'whatsapp' };
  }
  throw new GraphError(100, `Unsupported request: ${edge}`);
}

function parsed(body: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new GraphError(100, '(#100) the body is not JSON');
  }
}

function bytesOf({ world, now }: GraphDeps, key: string): Buffer {
  const found = world.mediaUrls.get(key);
  const media = found && world.media.get(found.mediaId);
  if (!media || found.untilMs < now().getTime()) throw new GraphError(100, 'the address has expired', 404);
  return media.bytes;
}
