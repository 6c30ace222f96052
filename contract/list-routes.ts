import { type AppRoute, type AppRouter, isAppRoute } from '@ts-rest/core';

export interface NamedRoute {
  /** Dotted path in the contract, e.g. `instances.create`. */
  name: string;
  route: AppRoute;
}

/** Every route of a contract, flat, in the order of the files. */
export function listRoutes(contract: AppRouter, prefix = ''): NamedRoute[] {
  return Object.entries(contract).flatMap(([key, value]) =>
    isAppRoute(value) ? [{ name: prefix + key, route: value }] : listRoutes(value, `${prefix}${key}.`),
  );
}
