import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../support/listen.ts';
import { type Answer, createObjects, type Kind, kindOf, refusal } from './s3-objects.ts';
import { checkSignature, type S3Account } from './s3-signature.ts';

/**
 * A fault of a request. A number: this status instead of an answer; `cut`: the connection breaks while the request is
 * being sent; `lose`: the request is done, and the connection breaks in the middle of the answer; `freeze`: it never
 * answers; `stall`: half an answer, and then nothing more; `late error`: status 200, and then an error.
 */
type Trouble = number | 'cut' | 'lose' | 'freeze' | 'stall' | 'late error';

/** The part of the API of S3 that the adapter uses: one bucket, in memory, with a real check of signatures. */
export interface S3Server extends Pick<ReturnType<typeof createObjects>, 'objects' | 'uploads'> {
  url: string;
  account: S3Account;
  /** Every request, as `METHOD kind`. */
  asked: string[];
  /** The host names of the requests. */
  hosts: Set<string>;
  /** The difference of its clock from this machine's. */
  skewMs: number;
  /** The fault of the next requests of a kind. */
  trouble(kind: Kind, trouble: Trouble, times?: number): void;
  /** Stops listening, and cuts all connections. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

const BUCKET = 'test-bucket';
/** Longer than clients keep idle connections: ended here, one might have a request on its way. */
const KEEP_ALIVE_MS = 72_000;

export async function startS3Server(): Promise<S3Server> {
  const account = { accessKeyId: 'TESTACCESSKEY', secretAccessKey: 'test/secret+key', region: 'eu-test-1' };
  const { objects, uploads, answers } = createObjects();
  const troubles = new Map<Kind, { trouble: Trouble; times: number }>();
  const asked: string[] = [];
  const hosts = new Set<string>();

  const http = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    serve(request, response).catch(() => response.destroy());
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { inBucket, key, query } = addressOf(request);
    const kind = kindOf(request.method!, query);
    asked.push(`${request.method} ${kind}`);
    hosts.add(request.headers.host!);
    const trouble = nextTrouble(kind);
    if (trouble === 'cut') {
      if (Number(request.headers['content-length'] ?? 0) > 0) await once(request, 'data');
      request.socket.destroy();
      return;
    }
    const body = await buffer(request);
    const now = new Date(Date.now() + s3.skewMs);
    response.setHeader('date', now.toUTCString());
    if (typeof trouble === 'number') return send(response, refusal(trouble, 'Injected'));
    if (trouble === 'late error') return send(response, { ...refusal(200, 'InternalError') });
    const refused = checkSignature(request, body, account, now);
    if (refused) {
      const { status, code, headers } = refused;
      const answer = refusal(status, code);
      return send(response, { ...answer, headers: { ...answer.headers, ...headers } });
    }
    if (!inBucket) return send(response, refusal(404, 'NoSuchBucket'));
    const answer = answers[kind]({ key, query, headers: request.headers, body });
    if (trouble === undefined) return send(response, answer);
    if (answer.body && trouble !== 'freeze') {
      response.writeHead(answer.status, answer.headers);
      await new Promise((sent) => response.write(answer.body!.slice(0, answer.body!.length / 2), sent));
    }
    if (trouble === 'lose') request.socket.destroy();
  }

  function addressOf(request: IncomingMessage) {
    const [path = '', query = ''] = request.url!.split('?', 2);
    const decoded = path.split('/').map(decodeURIComponent).join('/');
    const inHost = request.headers.host!.startsWith(`${BUCKET}.`);
    const inPath = decoded.startsWith(`/${BUCKET}/`);
    return {
      inBucket: inHost || inPath,
      key: decoded.slice(inHost ? 1 : BUCKET.length + 2),
      query: new URLSearchParams(query),
    };
  }

  function nextTrouble(kind: Kind): Trouble | undefined {
    const next = troubles.get(kind);
    if (!next || next.times === 0) return undefined;
    next.times -= 1;
    return next.trouble;
  }

  const port = await listen(http);
  const s3: S3Server = {
    url: `http://127.0.0.1:${port}`,
    account,
    objects,
    uploads,
    asked,
    hosts,
    skewMs: 0,
    trouble: (kind, trouble, times = 1) => void troubles.set(kind, { trouble, times }),
    goAway: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
    async comeBack() {
      await listen(http, port);
    },
  };
  return s3;
}

/** The settings with which a process stores media there. */
export function settingsOf({ url, account }: S3Server): Record<string, string> {
  return {
    S3_BUCKET: BUCKET,
    S3_ENDPOINT: url,
    S3_FORCE_PATH_STYLE: 'true',
    S3_REGION: account.region,
    S3_ACCESS_KEY_ID: account.accessKeyId,
    S3_SECRET_ACCESS_KEY: account.secretAccessKey,
  };
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers).end(body);
}
