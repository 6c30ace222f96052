import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { recordNetworkChanges } from '@posthorn/core/messages/record-network-change.ts';
import type { NetworkChange } from '@posthorn/core/network/driver.ts';
import { recordStatusFacts, type StatusFact } from '@posthorn/core/status/record-status.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';
import type { Care } from './bounded-tries.ts';
import type { EarlyChanges } from './early-changes.ts';
import { split } from './lists.ts';
import { sanitizeChange, sanitizeItems } from './sanitize.ts';

interface ChangesContext {
  deps: ArrivalsDeps;
  scope: ArrivalsScope;
  earlyChanges: EarlyChanges;
}

/** Records edits, deletions and stars, and deletions of statuses. Holds those of messages that are not stored yet. */
export async function recordChanges(
  { deps, scope, earlyChanges }: ChangesContext,
  items: readonly NetworkChange[],
  care: Care,
): Promise<void> {
  if (care === 'envelope') return;
  const readable = sanitizeItems({ deps, scope }, 'change', items, sanitizeChange);
  const [others, messages] = split(readable, ({ chat, fromMe }) => chat === STATUS_BROADCAST && !fromMe);
  if (messages.length > 0) await recordNetworkChanges(deps, scope, messages, earlyChanges.hold);
  const statuses = [...others, ...messages.filter(({ chat }) => chat === STATUS_BROADCAST)];
  const deleted = statuses.flatMap(({ kind, networkId, from, fromMe, at }): StatusFact[] =>
    // Our own statuses have no author in the feed.
    kind === 'deleted' ? [{ kind, statusId: networkId, from: fromMe ? '' : from, at }] : [],
  );
  await recordStatusFacts(deps, scope, deleted);
}

/** Records the held changes of these messages, which have just been stored. */
export async function recordEarlyChanges(
  { deps, scope, earlyChanges }: ChangesContext,
  stored: readonly { networkId: string }[],
): Promise<void> {
  const changes = earlyChanges.take(stored.map(({ networkId }) => networkId));
  if (changes.length === 0) return;
  try {
    // It may have been a message of another chat: anybody can give theirs an id that they have seen.
    await recordNetworkChanges(deps, scope, changes, earlyChanges.hold);
  } catch (err) {
    changes.forEach(earlyChanges.hold);
    throw err;
  }
}
