import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../support/listen.ts';

/** The part of the API of Google Cloud Storage that the adapter uses: one bucket, in memory. */
export interface GcsServer {
  url: string;
  objects: Map<string, { bytes: Buffer; contentType: string }>;
  /** Every request, as `METHOD kind`. */
  asked: string[];
  /** The next requests of a kind are answered with this status in place of being served. */
  fail(kind: Kind, status: number, times: number): void;
  /** The next read loses its connection in the middle, stops there, or gets no answer. */
  trouble(what: Trouble): void;
  /** Whether the bucket exists. */
  hasBucket(has: boolean): void;
  /** Stops listening, and cuts all connections. */
  close(): Promise<void>;
  /** After `close`: listens again, with its objects. */
  comeBack(): Promise<void>;
}

type Kind = 'multipart' | 'resumable-start' | 'resumable-chunk' | 'media' | 'delete' | 'list' | 'metadata';

type Trouble = 'lose' | 'stall' | 'silence';

/** Longer than clients keep idle connections: ended here, one might have a request on its way. */
const KEEP_ALIVE_MS = 72_000;

export async function startGcsServer(bucket: string): Promise<GcsServer> {
  const objects: GcsServer['objects'] = new Map();
  const sessions = new Map<string, { name: string; contentType: string; bytes: Buffer[] }>();
  const failures = new Map<Kind, { status: number; times: number }>();
  const asked: string[] = [];
  let trouble: Trouble | null = null;
  let isBucketThere = true;

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    // `close` cuts a request in the middle of its body.
    serve(request, response).catch(() => response.destroy());
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const url = new URL(request.url!, 'http://x');
    const kind = kindOf(request, url);
    asked.push(`${request.method} ${kind}`);
    const body = await buffer(request);
    const failure = failures.get(kind);
    if (failure && failure.times > 0) {
      failure.times -= 1;
      return answer(response, failure.status, { error: { code: failure.status, message: 'injected' } });
    }
    if (!isBucketThere) return missing(response, 'The specified bucket does not exist.');
    switch (kind) {
      case 'list':
        return answer(response, 200, { kind: 'storage#objects' });
      case 'multipart': {
        const { meta, media } = splitRelated(request.headers['content-type']!, body);
        const name = url.searchParams.get('name') ?? (meta.name as string);
        return put(response, url, name, media, String(meta.contentType));
      }
      case 'resumable-start': {
        const id = randomUUID();
        const name = url.searchParams.get('name')!;
        if (objects.has(name) && url.searchParams.get('ifGenerationMatch') === '0') return exists(response);
        const contentType = String(request.headers['x-upload-content-type']);
        sessions.set(id, { name, contentType, bytes: [] });
        const location = `http://${request.headers.host}/upload/storage/v1/b/${bucket}/o?uploadType=resumable&upload_id=${id}`;
        return response.writeHead(200, { location }).end();
      }
      case 'resumable-chunk':
        return chunk(request, response, url, body);
      case 'media':
        return download(request, response, url);
      case 'delete': {
        const gone = objects.delete(nameOf(url));
        return gone ? response.writeHead(204).end() : missing(response);
      }
      default: {
        const found = objects.get(nameOf(url));
        return found ? answer(response, 200, metadataOf(nameOf(url), found)) : missing(response);
      }
    }
  }

  function kindOf(request: IncomingMessage, url: URL): Kind {
    if (url.searchParams.get('uploadType') === 'multipart') return 'multipart';
    if (url.searchParams.get('uploadType') === 'resumable')
      return request.method === 'POST' ? 'resumable-start' : 'resumable-chunk';
    if (request.method === 'DELETE') return 'delete';
    if (url.pathname.endsWith('/o')) return 'list';
    return url.searchParams.get('alt') === 'media' ? 'media' : 'metadata';
  }

  function put(response: ServerResponse, url: URL, name: string, bytes: Buffer, contentType: string) {
    if (objects.has(name) && url.searchParams.get('ifGenerationMatch') === '0') return exists(response);
    objects.set(name, { bytes, contentType });
    return answer(response, 200, metadataOf(name, objects.get(name)!));
  }

  function chunk(request: IncomingMessage, response: ServerResponse, url: URL, body: Buffer) {
    const session = sessions.get(url.searchParams.get('upload_id')!);
    if (!session) return missing(response);
    const had = session.bytes.reduce((sum, each) => sum + each.length, 0);
    const range = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(String(request.headers['content-range']));
    const total = range?.[3] === '*' || range === null ? null : Number(range[3]);
    if (range?.[1] !== undefined && Number(range[1]) !== had) return answer(response, 400, {});
    session.bytes.push(body);
    const now = had + body.length;
    if (total !== null && now >= total) {
      sessions.delete(url.searchParams.get('upload_id')!);
      return put(response, url, session.name, Buffer.concat(session.bytes), session.contentType);
    }
    return response.writeHead(308, now > 0 ? { range: `bytes=0-${now - 1}` } : {}).end();
  }

  function download(request: IncomingMessage, response: ServerResponse, url: URL) {
    const found = objects.get(nameOf(url));
    if (!found) return missing(response);
    const now = trouble;
    trouble = null;
    if (now === 'silence') return response;
    if (now) {
      const status = request.headers.range ? 206 : 200;
      const half = found.bytes.subarray(0, found.bytes.length / 2);
      response.writeHead(status, { 'content-length': found.bytes.length });
      return response.write(half, () => now === 'lose' && response.socket!.resetAndDestroy());
    }
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    if (!range) return response.writeHead(200, { 'content-length': found.bytes.length }).end(found.bytes);
    const [start, end] = [Number(range[1]), range[2] ? Number(range[2]) : found.bytes.length - 1];
    const part = found.bytes.subarray(start, end + 1);
    return response
      .writeHead(206, {
        'content-length': part.length,
        'content-range': `bytes ${start}-${end}/${found.bytes.length}`,
      })
      .end(part);
  }

  const nameOf = (url: URL) => decodeURIComponent(url.pathname.split('/o/')[1] ?? '');
  const metadataOf = (name: string, { bytes, contentType }: { bytes: Buffer; contentType: string }) => ({
    kind: 'storage#object',
    name,
    bucket,
    contentType,
    size: String(bytes.length),
    generation: '1',
    md5Hash: createHash('md5').update(bytes).digest('base64'),
  });

  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    objects,
    asked,
    fail: (kind, status, times) => void failures.set(kind, { status, times }),
    trouble(what) {
      trouble = what;
    },
    hasBucket(has) {
      isBucketThere = has;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    async comeBack() {
      await listen(server, port);
    },
  };
}

/** A `multipart/related` body: the metadata as JSON, then the bytes. */
function splitRelated(type: string, body: Buffer): { meta: Record<string, unknown>; media: Buffer } {
  const boundary = /boundary="?([^";]+)/.exec(type)![1]!;
  const marker = Buffer.from(`--${boundary}`);
  const first = body.indexOf(marker) + marker.length;
  const second = body.indexOf(marker, first);
  const last = body.indexOf(marker, second + marker.length);
  const contentOf = (from: number, to: number) => {
    const part = body.subarray(from, to);
    return part.subarray(part.indexOf('\r\n\r\n') + 4, part.length - 2);
  };
  return {
    meta: JSON.parse(contentOf(first, second).toString()) as Record<string, unknown>,
    media: contentOf(second + marker.length, last),
  };
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function missing(response: ServerResponse, message = 'No such object'): void {
  answer(response, 404, { error: { code: 404, message } });
}

function exists(response: ServerResponse): void {
  answer(response, 412, { error: { code: 412, message: 'conditionNotMet' } });
}
