import { withoutTrailingSlashes } from '../../platform/http/base-url.ts';
import { fetch } from '../../platform/http/fetch.ts';
import { ProviderError } from './port.ts';

export interface AsaasOptions {
  apiKey: string;
  /** With the version, e.g. `https://api.asaas.com/v3`. */
  baseUrl: string;
  /** For each call, its answer's body included. */
  timeoutMs: number;
}

export const ASAAS_PRODUCTION_URL = 'https://api.asaas.com/v3';
export const ASAAS_SANDBOX_URL = 'https://api-sandbox.asaas.com/v3';

/** Keys of the production account say so in their prefix; the others belong to the sandbox. */
export function asaasBaseUrl(apiKey: string): string {
  return apiKey.startsWith('$aact_prod_') ? ASAAS_PRODUCTION_URL : ASAAS_SANDBOX_URL;
}

export type AsaasObject = Record<string, unknown>;

export interface AsaasHttp {
  /** The answer's JSON object. Throws ProviderError; `code` is `not_found` for a 404. */
  call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<AsaasObject>;
}

/** Failures in which the request cannot have reached the provider. */
const NOT_REACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/**
 * No message, code or cause made here holds anything of the request or the answer's text: requests carry
 * card numbers, and a refusal may quote them.
 */
export function createAsaasHttp(options: AsaasOptions): AsaasHttp {
  const base = withoutTrailingSlashes(options.baseUrl);
  return {
    async call(method, path, body) {
      const { status, text } = await send(options, method, `${base}${path}`, body);
      const answer = parse(text);
      if (status >= 200 && status < 300) {
        if (answer) return answer;
        throw new ProviderError('unknown', `asaas answered ${status} with half an answer`);
      }
      throw refusal(status, answer);
    },
  };
}

async function send(
  options: AsaasOptions,
  method: string,
  url: string,
  body: unknown,
): Promise<{ status: number; text: string }> {
  try {
    const answer = await fetch(url, {
      method,
      headers: {
        access_token: options.apiKey,
        accept: 'application/json',
        'user-agent': 'Posthorn',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(options.timeoutMs),
    });
    return { status: answer.status, text: await answer.text() };
  } catch (err) {
    const code = causeCode(err);
    if (NOT_REACHED.has(code)) throw new ProviderError('unavailable', 'asaas cannot be reached', { code });
    throw new ProviderError('unknown', 'asaas did not answer', { code });
  }
}

/** 4xx: refused, and nothing was done. 429 and a bad key say nothing about the request. 5xx: unknown. */
function refusal(status: number, answer: AsaasObject | null): ProviderError {
  const errors = answer?.errors as { code?: unknown }[] | undefined;
  const given = Array.isArray(errors) ? errors[0]?.code : undefined;
  const code =
    typeof given === 'string' && /^[\w.-]{1,60}$/.test(given)
      ? given
      : status === 404
        ? 'not_found'
        : undefined;
  const fault =
    status === 401 || status === 403 || status === 429 ? 'unavailable' : status < 500 ? 'refused' : 'unknown';
  return new ProviderError(fault, `asaas answered ${status}`, {
    ...(status === 404 ? { code: 'not_found' } : code ? { code } : {}),
  });
}

function parse(text: string): AsaasObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as AsaasObject)
      : null;
  } catch {
    return null;
  }
}

function causeCode(err: unknown): string {
  for (let cause = err; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { code?: unknown };
    if (typeof code === 'string') return code;
    if (cause.name === 'TimeoutError') return 'TIMEOUT';
  }
  return 'ERROR';
}
