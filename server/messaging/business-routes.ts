import type { business } from '@posthorn/contract/messaging/business.ts';
import { listCatalog, listCollections } from '@posthorn/core/business/list-catalog.ts';
import { readBusinessProfile } from '@posthorn/core/business/read-profile.ts';
import type { RpcDeps } from '@posthorn/core/rpc/request-owner.ts';
import type { Handlers } from '../http/handler.ts';
import type { MediaRoutesDeps } from './media-routes.ts';

/** The public profiles and catalogs of businesses (CHT-8, CHT-9). */
export function businessRoutes(given: RpcDeps & MediaRoutesDeps): Handlers<typeof business> {
  const deps = { ...given, images: given.storedMedia.networkImages };
  return {
    profile: async ({ principal, params, query, signal }) => ({
      status: 200,
      body: await readBusinessProfile(deps, { principal, ...params, query, signal }),
    }),
    catalog: async ({ principal, params, query, signal }) => ({
      status: 200,
      body: await listCatalog(deps, { principal, ...params, query, signal }),
    }),
    collections: async ({ principal, params, query, signal }) => ({
      status: 200,
      body: await listCollections(deps, { principal, ...params, query, signal }),
    }),
  };
}
