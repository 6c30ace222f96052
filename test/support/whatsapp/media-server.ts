import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { listen } from '../listen.ts';
import { hkdf, hmac, openCbc, sealCbc, sha256 } from './keys.ts';
import { selfSigned } from './tls-certificate.ts';

/** The network's store of sealed files, over TLS. It never has a key: phones seal and open at their end. */
export interface MediaServer {
  /** Host and port. */
  host: string;
  /** PEM of the authority that signs its certificate. */
  ca: string;
  /** The token that uploads must name; a new one invalidates the old one. */
  auth: string;
  /** The uploaded files, by path. */
  blobs: Map<string, Buffer>;
  uploads: number;
  downloads: number;
  /** Answers uploads with this status while it is set. */
  failUploads: number | null;
  /** How the next requests for files fail: with an answer of 503, or without any. */
  failDownloads: ('busy' | 'broken')[];
  /** Decides by the client's port whose connections it takes; null: everybody's. */
  takesFrom: ((port: number) => boolean) | null;
  /** Requests that came by another connection. */
  refusals: number;
  /** Forgets all files: later requests for one are answered with 410. */
  forget(): void;
  close(): Promise<void>;
}

/** The fields of a message that name a file and the key to open it. */
export interface MediaReference {
  url: string;
  directPath: string;
  mediaKey: Buffer;
  fileSha256: Buffer;
  fileEncSha256: Buffer;
  fileLength: number;
}

const KINDS = {
  image: 'Image',
  video: 'Video',
  audio: 'Audio',
  document: 'Document',
  sticker: 'Image',
  history: 'History',
  'app-state': 'App State',
} as const;
export type MediaKind = keyof typeof KINDS;
const MAC_BYTES = 10;

export async function startMediaServer(): Promise<MediaServer> {
  const { key, cert } = selfSigned();
  const blobs = new Map<string, Buffer>();
  const server = createServer({ key, cert }, (request, response) => {
    answer(media, request, response).catch(() => response.destroy());
  });
  const port = await listen(server);
  const media: MediaServer = {
    host: `127.0.0.1:${port}`,
    ca: cert,
    auth: randomBytes(12).toString('base64url'),
    blobs,
    uploads: 0,
    downloads: 0,
    failUploads: null,
    failDownloads: [],
    takesFrom: null,
    refusals: 0,
    forget: () => blobs.clear(),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return media;
}

/** Seals a file under a fresh key and puts it into the store, as a phone does before it sends it. */
export function storeMedia(media: MediaServer, kind: MediaKind, file: Buffer): MediaReference {
  const mediaKey = randomBytes(32);
  const keys = expand(mediaKey, kind);
  const sealed = sealCbc(keys.cipher, keys.iv, file);
  const blob = Buffer.concat([sealed, hmac(keys.mac, keys.iv, sealed).subarray(0, MAC_BYTES)]);
  const fileEncSha256 = sha256(blob);
  const directPath = pathOf(`/mms/${kind}`, fileEncSha256);
  media.blobs.set(directPath, blob);
  return {
    url: `https://${media.host}${directPath}`,
    directPath,
    mediaKey,
    fileSha256: sha256(file),
    fileEncSha256,
    fileLength: file.length,
  };
}

/** Opens a file that a message names, and checks each field of the message about it. Throws when one is wrong. */
export function openMedia(media: MediaServer, kind: MediaKind, message: Record<string, unknown>): Buffer {
  const reference = message as unknown as MediaReference;
  const blob = media.blobs.get(reference.directPath);
  if (!blob) throw new Error(`Nothing was uploaded to ${reference.directPath}`);
  if (!sha256(blob).equals(reference.fileEncSha256))
    throw new Error('fileEncSha256 is not of what was uploaded');
  const keys = expand(reference.mediaKey, kind);
  const sealed = blob.subarray(0, -MAC_BYTES);
  const mac = hmac(keys.mac, keys.iv, sealed).subarray(0, MAC_BYTES);
  if (!mac.equals(blob.subarray(-MAC_BYTES))) throw new Error('What was uploaded has another MAC');
  const file = openCbc(keys.cipher, keys.iv, sealed);
  if (!sha256(file).equals(reference.fileSha256)) throw new Error('fileSha256 is not of the file');
  if (file.length !== reference.fileLength) throw new Error('fileLength is not of the file');
  return file;
}

async function answer(media: MediaServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (media.takesFrom && !media.takesFrom(request.socket.remotePort ?? 0)) {
    media.refusals += 1;
    response.destroy();
    return;
  }
  const url = new URL(request.url ?? '/', `https://${media.host}`);
  if (request.method === 'POST') {
    const blob = await buffer(request);
    media.uploads += 1;
    if (media.failUploads !== null) return send(response, media.failUploads, {});
    if (url.searchParams.get('auth') !== media.auth) return send(response, 401, { error: 'auth' });
    const [, folder = '', token = ''] = /^(.*)\/([^/]+)$/.exec(url.pathname) ?? [];
    if (sha256(blob).toString('base64url') !== decodeURIComponent(token).replace(/=+$/, '')) {
      return send(response, 415, { error: 'the hash is not of the file' });
    }
    const path = pathOf(folder, sha256(blob));
    media.blobs.set(path, blob);
    return send(response, 200, { url: `https://${media.host}${path}`, direct_path: path });
  }
  media.downloads += 1;
  const fault = media.failDownloads.shift();
  if (fault === 'busy') return send(response, 503, { error: 'busy' });
  if (fault === 'broken') {
    response.destroy();
    return;
  }
  const blob = media.blobs.get(url.pathname) ?? media.blobs.get(`${url.pathname}${url.search}`);
  if (!blob) return send(response, 410, { error: 'gone' });
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  if (from === undefined) {
    response.writeHead(200, { 'content-length': blob.length });
    response.end(blob);
    return;
  }
  const part = blob.subarray(Number(from), to ? Number(to) + 1 : undefined);
  response.writeHead(206, { 'content-length': part.length });
  response.end(part);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function pathOf(folder: string, hash: Buffer): string {
  return `${folder.replace('/mms/', '/v/')}/${hash.toString('base64url')}.enc`;
}

function expand(mediaKey: Buffer, kind: MediaKind) {
  const keys = hkdf(mediaKey, 112, `WhatsApp ${KINDS[kind]} Keys`);
  return { iv: keys.subarray(0, 16), cipher: keys.subarray(16, 48), mac: keys.subarray(48, 80) };
}
