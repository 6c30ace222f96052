import { Resolver } from 'node:dns/promises';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { IpReputation } from '@posthorn/contract/messaging/admin.ts';
import { ADDRESS_WINDOWS, addToWindows, createMinutes } from '../limits/minute-windows.ts';
import type { Sql } from '../platform/database/db.ts';
import { hashKey } from '../platform/hashes.ts';
import type { Clock } from '../platform/process/clock.ts';
import { nameInZone, readFailure, readListing, type ZoneAnswer } from './list-answers.ts';

/** All look-ups of one check together. */
const CHECK_MS = 5_000;
/** One try of a look-up, of which there are two. */
const TRY_MS = 2_000;
const CHECKS_PER_MINUTE = 5;
const REASON_MAX_CHARS = 500;

export interface ReputationSettings {
  /** Our own addresses, as others see them. */
  addresses: readonly string[];
  /** The lists that are asked. */
  zones: readonly string[];
  /** `address` or `address:port` of DNS servers; the system's when there is none. */
  resolvers: readonly string[];
}

/**
 * Asks every list about every address, within five seconds in all. Throws 429 REPUTATION_RATE_LIMITED above five checks
 * a minute of a superadmin, in all processes together; 503 REPUTATION_NOT_AVAILABLE when nothing is configured, or no
 * list said anything.
 */
export async function checkAddresses(
  deps: { db: Sql; clock: Clock; reputation: ReputationSettings },
  input: { userId: number; ip?: string | undefined },
): Promise<IpReputation[]> {
  const { addresses, zones, resolvers } = deps.reputation;
  await countCheck(deps, input.userId);
  const asked = input.ip === undefined ? addresses : [input.ip];
  if (asked.length === 0 || zones.length === 0) {
    throw apiError('REPUTATION_NOT_AVAILABLE', { message: 'EGRESS_IPS or REPUTATION_ZONES is not set' });
  }
  const resolver = new Resolver({ timeout: TRY_MS, tries: 2 });
  if (resolvers.length > 0) resolver.setServers(resolvers);
  const deadline = setTimeout(() => resolver.cancel(), CHECK_MS);
  try {
    const results = await Promise.all(
      asked.map(async (ip) => ({
        ip,
        zones: await Promise.all(
          zones.map(async (zone) => ({ zone, ...(await askZone(resolver, nameInZone(ip, zone))) })),
        ),
      })),
    );
    if (results.every((result) => result.zones.every(({ listed }) => listed === null))) {
      throw apiError('REPUTATION_NOT_AVAILABLE', { message: 'no list gave an answer' });
    }
    return results;
  } finally {
    clearTimeout(deadline);
  }
}

async function askZone(resolver: Resolver, name: string): Promise<ZoneAnswer> {
  try {
    const answer = readListing(await resolver.resolve4(name));
    return answer.listed ? { ...answer, reason: await reasonOf(resolver, name) } : answer;
  } catch (err) {
    return readFailure((err as NodeJS.ErrnoException).code);
  }
}

/** The list's explanation for people; many lists give none. */
async function reasonOf(resolver: Resolver, name: string): Promise<string | null> {
  const records = await resolver.resolveTxt(name).catch(() => []);
  const text = records.map((parts) => parts.join('')).join(' ');
  return text === '' ? null : text.slice(0, REASON_MAX_CHARS);
}

async function countCheck(deps: { db: Sql; clock: Clock }, userId: number): Promise<void> {
  const minutes = createMinutes(deps.clock);
  const minute = minutes.current();
  const key = hashKey('reputation', String(userId)).replaceAll('-', '');
  const counted = (await addToWindows(deps.db, ADDRESS_WINDOWS, minute, new Map([[key, 1]]))).get(key);
  if (counted && counted.used > CHECKS_PER_MINUTE) {
    const retryAfter = minutes.retryAfterS(counted.minute);
    throw apiError('REPUTATION_RATE_LIMITED', { headers: { 'retry-after': String(retryAfter) } });
  }
}
