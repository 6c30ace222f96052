import type { playground } from '@posthorn/contract/messaging/playground.ts';
import { DatabaseWait } from '@posthorn/core/platform/database/in-time.ts';
import { readPlayground, readPlaygroundMessage } from '@posthorn/core/playground/read-playground.ts';
import { type PlaygroundDeps, sendInPlayground } from '@posthorn/core/playground/send-in-playground.ts';
import type { Handlers } from '../http/handler.ts';

export type PlaygroundRoutesDeps = PlaygroundDeps;

/** Sends without cost (CHT-10). */
export function playgroundRoutes(deps: PlaygroundRoutesDeps): Handlers<typeof playground> {
  return {
    async show({ principal }) {
      return { status: 200, body: await readPlayground(deps, principal) };
    },
    async send({ principal, body, traceId, signal, gateMs }) {
      const wait = new DatabaseWait(gateMs);
      return { status: 202, body: await sendInPlayground(deps, { principal, body, traceId, signal, wait }) };
    },
    async message({ principal, params }) {
      return { status: 200, body: await readPlaygroundMessage(deps, { principal, ...params }) };
    },
  };
}
