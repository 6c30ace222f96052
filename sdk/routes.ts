import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf, type RouteMeta, takesBody } from '@posthorn/contract/route-meta.ts';
import type { AppRoute, AppRouter } from '@ts-rest/core';
import type { RouteSpec, RouteTable } from './route-spec.ts';

/**
 * Every route that a plain request can call. The build writes the finished tables in place of this
 * module, so the published package carries neither the schemas nor the libraries that they are made with.
 */
export const messagingRoutes: RouteTable = tableOf(messagingContract);
export const billingRoutes: RouteTable = tableOf(billingContract);

function tableOf(contract: AppRouter): RouteTable {
  return Object.fromEntries(
    listRoutes(contract).flatMap(({ name, route }) => {
      const spec = specOf(route);
      return spec ? [[name, spec]] : [];
    }),
  );
}

/** Null for live connections and for pages that only a browser follows (no 2xx answer). */
function specOf(route: AppRoute): RouteSpec | null {
  const meta = metaOf(route);
  if (meta.raw === 'sse' || meta.raw === 'ws') return null;
  const success = Object.entries(route.responses).find(([status]) => status.startsWith('2'))?.[1];
  if (success === undefined) return null;
  return {
    method: route.method,
    path: route.path,
    keyed: meta.operation !== undefined,
    body: takesBody(route) ? (meta.raw === 'multipart' ? 'media' : 'json') : 'none',
    answer: answerOf(success, meta.raw),
  };
}

function answerOf(success: unknown, raw: RouteMeta['raw']): RouteSpec['answer'] {
  // c.noBody() is a symbol.
  if (typeof success === 'symbol') return 'none';
  const isOther = typeof success === 'object' && success !== null && 'contentType' in success;
  return !isOther ? 'json' : raw === 'text' ? 'text' : 'response';
}
