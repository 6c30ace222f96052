import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook, WebhookVerificationError } from '@posthorn/sdk/index.ts';
import { CommandError } from '../../fault.ts';
import { fitLine, printable } from '../../format.ts';
import type { Output } from '../../output.ts';
import { shownEvent } from '../events/shown.ts';

const BODY_MAX_BYTES = 16 * 1024 * 1024;
/** How long a delivery in progress may still take at the end. */
const CLOSE_MS = 1_000;

export interface ReceiverOptions {
  host: string;
  port: number;
  /** Read at each delivery, so that one may be added later. Empty: signatures are not checked. */
  secrets: readonly string[];
  /** The status with which genuine deliveries are answered. */
  status: number;
  /** Done after this many deliveries; null for never. */
  count: number | null;
}

export interface Receiver {
  url: string;
  /** Resolves after `count` deliveries, or when the signal fires. */
  done(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A small server that prints the deliveries it gets. CommandError when the port is taken. */
export async function startReceiver(deps: { out: Output }, options: ReceiverOptions): Promise<Receiver> {
  let received = 0;
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const server = createServer((request, response) => {
    take(deps, options, request, response).then(
      (wasDelivery) => {
        if (wasDelivery && ++received === options.count) finish();
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'it is in use' : error.message;
      reject(new CommandError(`cannot listen on port ${options.port}: ${why}`));
    });
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}/`,
    done(signal) {
      if (signal.aborted) finish();
      signal.addEventListener('abort', finish, { once: true });
      return finished;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeIdleConnections();
      // A delivery in progress still gets its answer. A silent connection would keep us waiting for minutes.
      const late = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      await closed;
      clearTimeout(late);
    },
  };
}

/** True when it was a delivery, genuine or not. */
async function take(
  { out }: { out: Output },
  { secrets, status }: ReceiverOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (request.method !== 'POST') {
    answer(response, 405);
    return false;
  }
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > BODY_MAX_BYTES) throw new Error('too large');
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  const refusal = secrets.length > 0 ? await verify(body, request, secrets) : null;
  const event = parse(body);
  const verified = secrets.length === 0 ? null : refusal === null;
  const mark = verified === null ? 'unchecked' : verified ? 'verified' : `REFUSED ${refusal}`;
  const { columns } = out;
  const shown = isEvent(event)
    ? shownEvent(event, columns === null ? null : Math.max(0, columns - mark.length - 2))
    : printable(body.toString('utf8'));
  out.item(
    { verified, refusal, event },
    columns === null ? `${mark}  ${shown}` : fitLine(`${mark}  ${shown}`, columns),
  );
  answer(response, refusal === null ? status : 400);
  return true;
}

async function verify(
  body: Buffer,
  request: IncomingMessage,
  secrets: readonly string[],
): Promise<string | null> {
  try {
    await verifyWebhook(body, request.headers, secrets);
    return null;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code;
    throw error;
  }
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

function isEvent(value: unknown): value is Parameters<typeof shownEvent>[0] {
  return typeof value === 'object' && value !== null && 'event_id' in value && 'type' in value;
}

/** Closes the connection after each delivery, so that the end need not wait for idle ones. */
function answer(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: 'close' }).end();
}
