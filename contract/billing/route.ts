import type { AppRoute, AppRouteResponse } from '@ts-rest/core';
import {
  billingErrorEnvelope,
  type ErrorCode,
  errorCatalogue,
  errorEnvelope,
  type StatusOf,
} from '../errors.ts';
import { errorsOf, type RouteMeta, route } from '../route-meta.ts';

type BillingMeta = Omit<RouteMeta, 'errors'> & { errors?: readonly ErrorCode[] };
type BillingDef = Parameters<typeof route>[1];

/** The gate refuses with the full envelope, a handler with the reduced one `{error_code, message}`. */
const GATE_STATUSES = [401, 403, 408, 429] as const;
type GateStatus = (typeof GATE_STATUSES)[number];

type DerivedStatus<M extends BillingMeta> =
  | 500
  | 503
  | (M['auth'] extends 'none' ? 429 : Exclude<GateStatus, 408>)
  | (M extends { notFound: infer N extends ErrorCode } ? StatusOf<N> : never)
  | (M extends { errors: readonly (infer E extends ErrorCode)[] } ? StatusOf<E> : never);

type ErrorResponses<S extends number> = {
  [K in S]: K extends GateStatus ? typeof errorEnvelope : typeof billingErrorEnvelope;
};

type BodyStatus<D> = D extends { body: { safeParse: unknown } } ? 400 | 408 | 413 : never;
type QueryStatus<D> = D extends { query: unknown } ? 400 : never;

type BillingRoute<M extends BillingMeta, D extends BillingDef> = Omit<D, 'responses'> & {
  responses: D['responses'] &
    ErrorResponses<Exclude<DerivedStatus<M> | BodyStatus<D> | QueryStatus<D>, keyof D['responses']>>;
  metadata: RouteMeta;
  strictStatusCodes: true;
  summary: string;
  description?: string;
};

/**
 * One endpoint of the billing service: as {@link route}, but its handlers answer errors in the reduced
 * envelope, a wrong role the full one, a body of a wrong shape is INVALID_JSON (or what `bodyCodes` says), and what fails inside is
 * INTERNAL with an incident id.
 */
export function billingRoute<const M extends BillingMeta, const D extends BillingDef>(
  meta: M,
  def: D,
): BillingRoute<M, D> {
  const made = route(
    {
      ...meta,
      errors: [...(meta.errors ?? []), 'INTERNAL'],
      bodyCodes: meta.bodyCodes ?? { missing: 'INVALID_JSON', invalid: 'INVALID_JSON' },
    } as BillingMeta,
    def,
  );
  const responses: Record<number, AppRouteResponse> = { ...def.responses };
  for (const code of errorsOf(made as unknown as AppRoute)) {
    for (const status of meta.statuses?.[code] ?? [errorCatalogue[code].status])
      responses[status] ??= (GATE_STATUSES as readonly number[]).includes(status)
        ? errorEnvelope
        : billingErrorEnvelope;
  }
  return { ...made, responses } as unknown as BillingRoute<M, D>;
}
