import { randomUUID } from 'node:crypto';
import type { Context } from '../context.ts';
import { UsageError } from '../fault.ts';
import { didYouMean } from '../similar.ts';
import type { EndpointName } from './contract-names.ts';
import type { Endpoint } from './endpoint.ts';
import { ENDPOINTS } from './table.ts';

export interface EndpointCall {
  /** With its parameters filled in. */
  path: string;
  query?: Record<string, unknown> | undefined;
  body?: Record<string, unknown> | undefined;
  idempotencyKey?: string | undefined;
  force?: boolean | undefined;
}

export function endpointNamed(name: EndpointName): Endpoint {
  const found = ENDPOINTS.find((endpoint) => endpoint.name === name);
  if (!found) throw new Error(`there is no endpoint ${name}`);
  return found;
}

/** Calls an endpoint with the credentials that it takes. */
export function callEndpoint(context: Context, endpoint: Endpoint, call: EndpointCall): Promise<unknown> {
  return clientOf(context, endpoint).request(
    {
      method: endpoint.method,
      path: call.path,
      query: call.query as Record<string, string>,
      // An endpoint with only optional fields still requires an object.
      body: endpoint.body === null ? undefined : (call.body ?? {}),
      headers: {
        'idempotency-key': endpoint.keyed ? (call.idempotencyKey ?? randomUUID()) : undefined,
        'x-force-send': call.force ? 'true' : undefined,
      },
      answer: endpoint.answer,
    },
    { signal: context.signal },
  );
}

function clientOf(context: Context, endpoint: Endpoint) {
  if (endpoint.service === 'billing') {
    return endpoint.auth === 'none' ? context.anonymousBilling() : context.billing();
  }
  if (endpoint.auth === 'none') return context.anonymous();
  return endpoint.auth === 'any' ? context.client() : context.session();
}

/** Throws UsageError for a field that the endpoint does not have: the service would ignore it silently. */
export function checkFields(endpoint: Endpoint, given: readonly string[]): void {
  const known = (endpoint.body ?? []).map(({ name }) => name);
  // A body that may have any fields, such as an event of a payment provider.
  if (known.length === 0 && endpoint.body !== null) return;
  for (const name of given) {
    if (known.includes(name)) continue;
    if (endpoint.body === null) throw new UsageError(`${endpoint.method} ${endpoint.path} takes no fields`);
    throw new UsageError(`there is no field ${name}${didYouMean(name, known)}; it takes ${known.join(', ')}`);
  }
}
