/** A small JSON router for the control API: a dozen routes need no framework. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod/v4';
import type { SandboxLog } from '../log.ts';
import type { Guard } from './guard.ts';

/** An error answer: `{error_code, message}`. */
export class ControlError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

interface ControlRequest {
  params: Record<string, string>;
  query: Record<string, string>;
  body: unknown;
}

export interface Route {
  method: 'GET' | 'POST' | 'DELETE';
  /** Segments beginning with a colon are parameters. */
  path: string;
  /** Returns the answer's body, sent with 200, or `[status, body]`. */
  handle(request: ControlRequest): object | [number, object];
}

/** Bodies contain media as base64, at most 64 MB. */
const MAX_BODY_BYTES = 96 * 1024 * 1024;

export function parseWith<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const path = issue.path.join('.');
  throw new ControlError(400, 'BAD_REQUEST', path ? `${path}: ${issue.message}` : issue.message);
}

/** Answers one request with the matching route; `beforeReply` runs before a success is sent. */
export async function serveControl(
  deps: { routes: readonly Route[]; guard: Guard; beforeReply: () => void; log: SandboxLog },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const refusal = deps.guard.refuseHost(request) ?? deps.guard.refuseOrigin(request);
    if (refusal !== null) throw new ControlError(403, 'FORBIDDEN', refusal);
    const url = new URL(request.url ?? '/', 'http://sandbox');
    const { route, params } = findRoute(deps.routes, request.method ?? 'GET', url.pathname);
    const query = Object.fromEntries(url.searchParams);
    const body = route.method === 'POST' ? await readJson(request) : undefined;
    const result = route.handle({ params, query, body });
    deps.beforeReply();
    if (Array.isArray(result)) reply(response, result[0], result[1]);
    else reply(response, 200, result);
  } catch (error) {
    const known = error instanceof ControlError;
    if (!known) deps.log.error({ err: error }, 'sandbox control request failed');
    const { status, code, message } = known
      ? error
      : { status: 500, code: 'INTERNAL_ERROR', message: 'the sandbox failed; see its log' };
    reply(response, status, { error_code: code, message });
  }
}

function findRoute(routes: readonly Route[], method: string, pathname: string) {
  const segments = pathname.split('/');
  let pathKnown = false;
  for (const route of routes) {
    const params = matchPath(route.path.split('/'), segments);
    if (!params) continue;
    if (route.method === method) return { route, params };
    pathKnown = true;
  }
  if (pathKnown) throw new ControlError(405, 'METHOD_NOT_ALLOWED', `${method} is not possible here`);
  throw new ControlError(404, 'NOT_FOUND', 'the sandbox has no such path');
}

function matchPath(pattern: string[], segments: string[]): Record<string, string> | null {
  if (pattern.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [i, part] of pattern.entries()) {
    if (part.startsWith(':')) params[part.slice(1)] = decodeSegment(segments[i]!);
    else if (part !== segments[i]) return null;
  }
  return params;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new ControlError(400, 'BAD_REQUEST', 'the path is not valid URL encoding');
  }
}

const JSON_TYPE = /^application\/json\s*(;|$)/i;

/**
 * The JSON body; an empty one counts as `{}`. Other content types are refused even if their text is JSON: a
 * web page may send those anywhere without a preflight.
 */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_BODY_BYTES) {
      throw new ControlError(413, 'PAYLOAD_TOO_LARGE', `a body has at most ${MAX_BODY_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  if (text.trim() === '') return {};
  if (!JSON_TYPE.test(request.headers['content-type'] ?? ''))
    throw new ControlError(415, 'UNSUPPORTED_MEDIA_TYPE', 'the content type must be application/json');
  try {
    return JSON.parse(text);
  } catch {
    throw new ControlError(400, 'INVALID_JSON', 'the body is not valid JSON');
  }
}

function reply(response: ServerResponse, status: number, body: object) {
  if (response.headersSent || response.destroyed) return;
  const json = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
  });
  response.end(json);
}
