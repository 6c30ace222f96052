import type { PresenceUpdate } from '../../facts.ts';
import type { PresenceBody } from '../fact-frames.ts';

/** A presence as the port tells it. */
export function presenceOf({ last_seen, at, ...update }: PresenceBody): PresenceUpdate {
  return { ...update, lastSeen: last_seen === null ? null : new Date(last_seen), at: new Date(at) };
}
