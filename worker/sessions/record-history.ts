import type { HistoryBatch } from '@posthorn/network/facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';

/** Stores what was before the pairing: chats, contacts and messages, without events. */
export async function recordHistory(
  _deps: ArrivalsDeps,
  _scope: ArrivalsScope,
  _batch: HistoryBatch,
): Promise<void> {}
