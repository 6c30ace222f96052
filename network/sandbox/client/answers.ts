/** Converts the network's messages to the types of the port. */
import type { PresenceUpdate } from '@posthorn/core/network/facts.ts';
import type { PresenceBody } from '../fact-frames.ts';

export function presenceOf({ last_seen, at, ...update }: PresenceBody): PresenceUpdate {
  return { ...update, lastSeen: last_seen === null ? null : new Date(last_seen), at: new Date(at) };
}

/**
 * Fields with addresses of pictures. The network sends them as paths, because it does not know its own host
 * name.
 */
const FIELDS: ReadonlySet<string> = new Set(['image_url', 'picture_url']);

/** Replaces the paths of pictures in an answer by addresses of the network's CDN. */
export function withCdnAddresses(answer: unknown, socketUrl: string): unknown {
  if (Array.isArray(answer)) return answer.map((each) => withCdnAddresses(each, socketUrl));
  if (typeof answer !== 'object' || answer === null) return answer;
  return Object.fromEntries(
    Object.entries(answer).map(([key, value]) => [
      key,
      FIELDS.has(key) && typeof value === 'string'
        ? addressOf(value, socketUrl)
        : withCdnAddresses(value, socketUrl),
    ]),
  );
}

function addressOf(path: string, socketUrl: string): string {
  if (!path.startsWith('/')) return path;
  const url = new URL(path, socketUrl);
  url.protocol = url.protocol === 'wss:' ? 'https:' : 'http:';
  return url.href;
}
