import { randomUUID } from 'node:crypto';
import type {
  NetworkDriver,
  NetworkSession,
  OpenRequest,
  SessionSink,
} from '@posthorn/core/network/driver.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { startWorker } from '@posthorn/worker/worker.ts';
import type { Parts } from './parts.ts';

/** That of the workers here. */
export const cipher = createCipher('0123456789abcdef'.repeat(4));

/** A worker on a network whose sessions `open` makes by their number, from 0. */
export function startScripted(
  parts: Parts,
  open: (
    nth: number,
    sink: SessionSink,
    request: OpenRequest,
  ) => Partial<NetworkSession> | Promise<Partial<NetworkSession>>,
) {
  let opened = 0;
  const driver: NetworkDriver = {
    // The network of the instance, because a worker opens an instance only on its own network.
    name: 'sandbox',
    dedupes: true,
    window: 1,
    can: new Set(),
    async open(request, sink) {
      opened += 1;
      return { recorded: () => undefined, ...(await open(opened - 1, sink, request)) } as NetworkSession;
    },
  };
  const starting = startWorker({
    ...parts,
    databaseUrl: parts.url,
    clock: systemClock,
    broker: createInProcessBroker(),
    cipher,
    driver,
    name: `worker ${randomUUID()}`,
  });
  return { starting, opened: () => opened };
}
