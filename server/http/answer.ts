import { isDeepStrictEqual } from 'node:util';
import type { Log } from '@posthorn/core/platform/log.ts';
import type { Call } from './call.ts';
import type { Answer } from './handler.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

export interface AnswerDeps {
  log: Log;
  /** Checks every body against its schema: on in tests, where a lie of the contract must fail. */
  validateResponses: boolean;
  isDraining: () => boolean;
}

/** Sends what a handler returned. Throws when the contract does not declare it: that is a 500. */
export function sendAnswer(deps: AnswerDeps, call: Call, answer: Answer): void {
  const declared = call.route.answers.get(answer.status);
  if (declared === undefined)
    throw new Error(`${call.route.name} answered ${answer.status}, which is not declared`);
  const { body } = answer;
  if (deps.validateResponses && declared.schema !== null && isJson(body)) checkBody(call, answer);
  let payload: string | Buffer | undefined;
  let type: string | undefined;
  if (body === undefined) payload = undefined;
  else if (declared.contentType !== null || Buffer.isBuffer(body)) {
    payload = body as string | Buffer;
    type = declared.contentType ?? undefined;
  } else {
    payload = JSON.stringify(body);
    type = JSON_TYPE;
  }
  send(deps, call, answer.status, payload, type, answer.headers);
}

/**
 * Straight to Node's response: Fastify's own path costs several lookups and hooks that nobody here uses.
 */
export function send(
  deps: Pick<AnswerDeps, 'isDraining'>,
  call: Call,
  status: number,
  payload: string | Buffer | undefined,
  type: string | undefined,
  more: Record<string, string | string[]> | undefined,
): void {
  const { reply } = call;
  const { raw } = reply;
  reply.hijack();
  call.route.observe(status, performance.now() - call.startedAt);
  call.settleProof?.(status === 401);
  if (raw.headersSent || raw.destroyed) return;
  const headers: Record<string, string | string[] | number> = call.answerHeaders;
  if (type !== undefined) headers['content-type'] = type;
  if (more !== undefined) for (const name in more) headers[name.toLowerCase()] = more[name]!;
  if (payload !== undefined) headers['content-length'] = Buffer.byteLength(payload);
  else if (status !== 204 && status !== 304) headers['content-length'] = 0;
  if (deps.isDraining()) headers.connection = 'close';
  raw.writeHead(status, headers);
  raw.end(payload);
}

function isJson(body: unknown): boolean {
  return body !== undefined && !Buffer.isBuffer(body);
}

/** The body as a client reads it must pass, and must hold nothing that the schema does not know. */
function checkBody(call: Call, answer: Answer): void {
  const read: unknown = JSON.parse(JSON.stringify(answer.body));
  const parsed = call.route.answers.get(answer.status)!.schema!.safeParse(read);
  if (!parsed.success)
    throw new Error(`${call.route.name} answered ${answer.status} with a body that its schema refuses`, {
      cause: parsed.error,
    });
  if (!isDeepStrictEqual(JSON.parse(JSON.stringify(parsed.data)), read))
    throw new Error(`${call.route.name} answered ${answer.status} with fields that its schema does not have`);
}
