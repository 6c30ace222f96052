/** Transfers media to and from the network's media servers, over the instance's own route. */
import { randomBytes } from 'node:crypto';
import type { Agent, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { type Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type OutboundMedia,
  SendDeferred,
  SendRefused,
  SendUnavailable,
} from '@posthorn/core/network/driver.ts';
import { z } from 'zod/v4';
import { readAtMost } from '../bounded-read.ts';
import { type MediaRef, type MediaUse, useOf } from '../wire/inbound-media.ts';
import type { UploadedMedia } from '../wire/outbound-media.ts';
import { createDecryptor, createEncryptor } from './crypt.ts';
import type { FindMediaServers } from './servers.ts';

export interface TransferDeps {
  agent: Agent | undefined;
  /** The media servers and the authorization for them. */
  findServers: FindMediaServers;
  timeoutMs: number;
}

const ORIGIN = 'https://web.whatsapp.com';
const uploaded = z.object({ url: z.string().min(1), direct_path: z.string().min(1) });

/**
 * Encrypts and uploads. Reads the bytes twice: the address of an upload is the hash of its encrypted bytes,
 * and encrypting twice costs less than a copy on disk. Throws SendRefused, or SendDeferred: nothing of the
 * message was sent.
 */
export async function uploadMedia(
  deps: TransferDeps,
  type: string,
  media: OutboundMedia,
  now: Date,
): Promise<UploadedMedia> {
  const use = useOf(type);
  const mediaKey = randomBytes(32);
  const encryptor = createEncryptor(mediaKey, use);
  let encryptedBytes = 0;
  const count = new Writable({
    write(chunk: Buffer, _encoding, done) {
      encryptedBytes += chunk.length;
      done();
    },
  });
  await pipeline(await media.open(), encryptor, count);
  const hashes = encryptor.hashes();
  const path = `/mms/${use}/${encodeURIComponent(hashes.fileEncSha256.toString('base64url'))}`;
  const token = hashes.fileEncSha256.toString('base64url');
  for (const source of ['known', 'new query'] as const) {
    const servers = await deps.findServers(source).catch(() => null);
    if (!servers) continue;
    const { hosts, auth } = servers;
    for (const { hostname } of hosts) {
      const address = `https://${hostname}${path}?auth=${encodeURIComponent(auth)}&token=${encodeURIComponent(token)}`;
      const body = { media, mediaKey, use, sizeBytes: encryptedBytes };
      const found = await post(deps, address, body).catch(() => null);
      if (found)
        return {
          ...{ url: found.url, directPath: found.direct_path, mediaKey, ...hashes, about: media },
          mediaKeyTimestamp: Math.floor(now.getTime() / 1000),
        };
    }
  }
  throw new SendDeferred('media_upload_failed');
}

interface Body {
  media: OutboundMedia;
  mediaKey: Uint8Array;
  use: MediaUse;
  sizeBytes: number;
}

async function post(
  deps: TransferDeps,
  address: string,
  body: Body,
): Promise<z.infer<typeof uploaded> | null> {
  const sending = request(address, {
    method: 'POST',
    agent: deps.agent,
    timeout: deps.timeoutMs,
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': body.sizeBytes,
      origin: ORIGIN,
    },
  });
  sending.on('timeout', () => sending.destroy(new Error('the media server stalled')));
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sending.once('response', resolve);
    // `on`, not `once`: the connection may fail after the answer began, and again when it is closed.
    sending.on('error', reject);
  });
  // The first failure is thrown; the other must not become an unhandled rejection.
  answered.catch(() => undefined);
  await pipeline(await body.media.open(), createEncryptor(body.mediaKey, body.use), sending);
  const response = await answered;
  const text = await readAtMost(response, ANSWER_MAX_BYTES, 'the answer of the media server');
  if (response.statusCode !== 200) return null;
  const found = uploaded.safeParse(JSON.parse(text));
  return found.success ? found.data : null;
}

const ANSWER_MAX_BYTES = 64 * 1024;

/** Refusals that pass by themselves. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Opens received media. Throws SendRefused `media_expired` if the network has forgotten it, or
 * SendUnavailable. Altered data fails at the end of the stream.
 */
export async function downloadMedia(deps: TransferDeps, ref: MediaRef): Promise<Readable> {
  const { hosts } = await deps.findServers('known');
  const response = await get(deps, `https://${hosts[0]!.hostname}${ref.directPath}`);
  const status = response.statusCode ?? 0;
  if (status !== 200) response.resume();
  // A path without a valid signature gets 403.
  if (status >= 400 && status < 500 && !LATER.has(status)) throw new SendRefused('media_expired');
  if (status !== 200) throw new SendUnavailable(`the media server of the network answered ${status}`);
  const decryptor = createDecryptor(Buffer.from(ref.mediaKey, 'base64'), ref.use, ref.fileSha256);
  // Errors of either stream reach the reader.
  pipeline(response, decryptor).catch(() => undefined);
  return decryptor;
}

function get(deps: TransferDeps, address: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asking = request(address, {
      agent: deps.agent,
      timeout: deps.timeoutMs,
      headers: { origin: ORIGIN },
    });
    asking.on('timeout', () => asking.destroy(new Error('the media server stalled')));
    asking.once('response', resolve);
    // `on`, as above.
    asking.on('error', (cause) =>
      reject(new SendUnavailable('the media server of the network could not be reached', { cause })),
    );
    asking.end();
  });
}
