import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import { drainNotification } from '@posthorn/core/workers/members.ts';
import type { Membership } from './membership.ts';

/** The request of an operator that this worker gives its shards away. */
export interface DrainRequest {
  /** Calls `handler` when it comes, or in the same turn when it has come before. */
  onCome(handler: () => void): void;
}

/**
 * Listens for the request. Call it with the registration: from then on operators see the worker, long before it could own
 * shards.
 */
export function hearDrain(bus: Pick<Bus, 'on'>, membership: Pick<Membership, 'id'>): DrainRequest {
  const handlers = new Set<() => void>();
  let hasCome = false;
  bus.on('workers', (payload) => {
    const id = membership.id();
    if (id === null || payload !== drainNotification(id)) return;
    hasCome = true;
    for (const handler of handlers) handler();
  });
  return {
    onCome(handler) {
      handlers.add(handler);
      if (hasCome) handler();
    },
  };
}
