import { matchesPattern } from '@posthorn/contract/events.ts';
import type { Principal } from '../access/principal.ts';

/** Which events of a company a reader wants; nothing given means all of them. */
export interface EventFilter {
  instanceId?: string | null;
  /** Event names and patterns: `*`, `message.*`, `*.received`. */
  types?: readonly string[] | null;
  /** Types that are left out, whatever else is wanted. */
  hidden?: readonly string[];
}

/** Events whose readers can pair a phone of their own, which agents may not do (ACC-37). */
const PAIRING_TYPES: readonly string[] = ['instance.qr_updated'];

/** The types that a caller gets no events of. */
export function hiddenFrom({
  role,
  isSuperadmin,
}: Pick<Principal, 'role' | 'isSuperadmin'>): readonly string[] {
  return role === 'agent' && !isSuperadmin ? PAIRING_TYPES : [];
}

/** The patterns as SQL LIKE takes them, or null when every type is desired. */
export function likePatterns(filter: EventFilter): string[] | null {
  const { types } = filter;
  if (!types || types.length === 0 || types.includes('*')) return null;
  return types.map((pattern) => pattern.replace(/[\\%_]/g, '\\$&').replace('*', '%'));
}

/** Readers with equal keys get the same events, so that a batch is rendered once for all of them. */
export function filterKey(filter: EventFilter): string {
  const types = likePatterns(filter) === null ? ['*'] : [...filter.types!].sort();
  return `${filter.instanceId ?? '*'} ${types.join(' ')} ${filter.hidden?.join(' ') ?? ''}`;
}

/** The filter as a predicate; remembers the answer by type, of which there are a few dozen. */
export function eventPredicate(
  filter: EventFilter,
): (event: { type: string; instanceId: string | null }) => boolean {
  const { instanceId, hidden = [] } = filter;
  const patterns = likePatterns(filter) === null ? null : filter.types!;
  if (!instanceId && !patterns && hidden.length === 0) return () => true;
  const known = new Map<string, boolean>();
  const isDesired = (type: string) => {
    let answer = known.get(type);
    if (answer === undefined) {
      answer = !hidden.includes(type) && (patterns?.some((pattern) => matchesPattern(pattern, type)) ?? true);
      known.set(type, answer);
    }
    return answer;
  };
  return (event) => (!instanceId || event.instanceId === instanceId) && isDesired(event.type);
}
