import { isDeepStrictEqual } from 'node:util';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { z } from 'zod/v4';
import type { Call } from './call.ts';
import type { Answer } from './handler.ts';
import { endAtRefusal } from './in-turns.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

export interface AnswerDeps {
  log: Log;
  /** Checks every body against its schema; on in tests, where a violated contract must fail. */
  validateResponses: boolean;
  isDraining: () => boolean;
}

/**
 * Validates a handler's answer and sets its headers. Throws if the contract does not declare it: that becomes
 * a 500.
 */
export function checkAnswer(deps: AnswerDeps, call: Call, answer: Answer): void {
  const declared = call.route.answers.get(answer.status);
  if (declared === undefined)
    throw new Error(`${call.route.name} answered ${answer.status}, which is not declared`);
  const { body, headers } = answer;
  if (deps.validateResponses && declared.schema !== null && isJson(body))
    checkBody(declared.schema, call, answer);
  if (headers !== undefined)
    for (const name in headers) call.answerHeaders[name.toLowerCase()] = headers[name]!;
  // The adapter itself ends an answer without a body.
  if (body === undefined) setHead(deps, call, answer.status);
}

/**
 * Sends an answer with a body, with all headers at once: setting them one by one costs Node twice as much.
 */
export function send(
  deps: Pick<AnswerDeps, 'isDraining'>,
  call: Call,
  status: number,
  payload: string | Buffer | undefined,
  type: string | undefined,
): void {
  const { response, answerHeaders } = call;
  call.route.observe(status, performance.now() - call.startedAt, call);
  // 404: it proves itself to an instance that is not there.
  call.settleProof?.(status === 401 || status === 404);
  if (response.headersSent || response.destroyed) return;
  const headers: Record<string, string | string[] | number> = answerHeaders;
  if (type !== undefined) headers['content-type'] = type;
  headers['content-length'] = payload === undefined ? 0 : Buffer.byteLength(payload);
  if (deps.isDraining()) headers.connection = 'close';
  endAtRefusal(call.request, response, status);
  response.writeHead(status, headers);
  response.end(payload);
}

function setHead(deps: Pick<AnswerDeps, 'isDraining'>, call: Call, status: number): void {
  const { response, answerHeaders } = call;
  call.route.observe(status, performance.now() - call.startedAt, call);
  call.settleProof?.(false);
  if (response.headersSent || response.destroyed) return;
  for (const name in answerHeaders) response.setHeader(name, answerHeaders[name]!);
  if (status !== 204 && status !== 304) response.setHeader('content-length', 0);
  if (deps.isDraining()) response.setHeader('connection', 'close');
}

function isJson(body: unknown): boolean {
  return body !== undefined && !Buffer.isBuffer(body);
}

/** The body as a client reads it must pass the schema, and must have no field the schema does not know. */
function checkBody(schema: z.ZodType, call: Call, answer: Answer): void {
  const read: unknown = JSON.parse(JSON.stringify(answer.body));
  const parsed = schema.safeParse(read);
  if (!parsed.success)
    throw new Error(`${call.route.name} answered ${answer.status} with a body that its schema refuses`, {
      cause: parsed.error,
    });
  if (!isDeepStrictEqual(JSON.parse(JSON.stringify(parsed.data)), read))
    throw new Error(`${call.route.name} answered ${answer.status} with fields that its schema does not have`);
}
