/** One question to Meta's Graph API. */
import { z } from 'zod/v4';
import { fetch } from '../platform/http/fetch.ts';

/** Where the Graph API is, and which version of it. */
export interface GraphAddress {
  /** `https://graph.facebook.com`, or another server that speaks it. */
  url: string;
  /** Such as `v26.0`. */
  version: string;
}

export interface GraphQuestion {
  method: 'GET' | 'POST' | 'DELETE';
  /** Below the version: `/{phone_number_id}/messages`. */
  path: string;
  token: string;
  body?: unknown;
  timeoutMs?: number;
}

/** Graph refused: by its own body, so it has not done what was asked. */
export class GraphRefused extends Error {
  override name = 'GraphRefused';
  /** Callers decide by the code, because Meta changes the titles (support/error-codes). */
  readonly code: number;
  /** Tells the meanings of a code apart that has several. */
  readonly subcode: number | undefined;
  constructor(code: number, message: string, subcode?: number) {
    super(message);
    this.code = code;
    this.subcode = subcode;
  }
}

/** Graph gave no answer of its own. */
export class GraphUnreachable extends Error {
  override name = 'GraphUnreachable';
  /** False when the question cannot have reached it. */
  readonly mayHaveArrived: boolean;
  constructor(mayHaveArrived: boolean, message: string, options?: ErrorOptions) {
    super(message, options);
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** A lost answer costs more than a slow one. */
const TIMEOUT_MS = 30_000;
const ANSWER_MAX_CHARS = 1_000_000;

/** The code says that nothing was taken, whatever form its details have: at some places they are a text. */
const refusal = z.object({
  error: z.object({
    code: z.number(),
    error_subcode: z.number().optional().catch(undefined),
    message: z.string().catch(''),
    /** A text for people, and the only place that says what is wrong with a template. */
    error_user_msg: z.string().optional().catch(undefined),
    error_data: z.looseObject({ details: z.string().optional() }).optional().catch(undefined),
  }),
});

/** Asks, and answers the JSON. Throws {@link GraphRefused} or {@link GraphUnreachable}. */
export async function askGraph(at: GraphAddress, question: GraphQuestion): Promise<unknown> {
  const { method, path, token, body, timeoutMs = TIMEOUT_MS } = question;
  const response = await reach(graphUrl(at, path), {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  });
  return readGraph(response.status, await textOf(response));
}

export function graphUrl({ url, version }: GraphAddress, path: string): string {
  return `${url.replace(/\/$/, '')}/${version}${path}`;
}

/** The JSON of an answer. Throws as {@link askGraph}. */
export function readGraph(status: number, text: string): unknown {
  const json = parse(text);
  if (json !== undefined && status < 300) return json;
  const refused = refusal.safeParse(json);
  if (!refused.success) throw new GraphUnreachable(true, `the network answered ${status}`);
  const { code, error_subcode, message, error_data, error_user_msg } = refused.data.error;
  throw new GraphRefused(code, error_data?.details ?? error_user_msg ?? message, error_subcode);
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    throw new GraphUnreachable(!hasNotConnected(cause), 'the network could not be reached', { cause });
  }
}

async function textOf(response: Response): Promise<string> {
  try {
    return (await response.text()).slice(0, ANSWER_MAX_CHARS);
  } catch (cause) {
    throw new GraphUnreachable(true, 'the answer of the network was cut', { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Failures that come before the first byte of a request is written. */
const BEFORE_WRITING = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID'],
]);

/** Whether this error of a request means that no connection came about. */
export function hasNotConnected(err: unknown): boolean {
  const { code, cause, errors } = (err ?? {}) as { code?: string; cause?: unknown; errors?: unknown[] };
  if (code !== undefined && BEFORE_WRITING.has(code)) return true;
  // Every one of several addresses must have failed to connect.
  if (errors && errors.length > 0) return errors.every(hasNotConnected);
  return cause !== undefined && hasNotConnected(cause);
}
