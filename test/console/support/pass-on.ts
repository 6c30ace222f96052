import type { APIResponse, Route } from 'playwright-core';

/**
 * Passes a request on as the page sent it. Playwright would add the cookies of the session, with which the service refuses
 * all but reading.
 */
export function passOn(route: Route): Promise<APIResponse> {
  return route.fetch({ headers: { ...route.request().headers(), cookie: '' } });
}
