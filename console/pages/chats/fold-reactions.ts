import type { Message } from '@posthorn/sdk/index.ts';

/** Moves reactions, which are messages of their own, to the messages that they react to. */
export function foldReactions(rows: readonly Message[]) {
  const byTarget = new Map<string, Map<string, string>>();
  const shown: Message[] = [];
  // The rows are newest first, so each person's first reaction counts; an empty one removes it.
  for (const row of rows) {
    if (row.message_type !== 'reaction') shown.push(row);
    const { message_id: target, emoji } = row.content;
    // One that failed is on no phone.
    if (row.message_type !== 'reaction' || row.status === 'failed' || typeof target !== 'string') continue;
    const people = byTarget.get(target) ?? new Map<string, string>();
    byTarget.set(target, people);
    const who = row.from_jid ?? 'us';
    if (!people.has(who)) people.set(who, typeof emoji === 'string' ? emoji : '');
  }
  const reactionsOf = ({ message_id: id, network_id: other }: Message): string => {
    const found = [...(byTarget.get(id)?.values() ?? []), ...(byTarget.get(other ?? '')?.values() ?? [])];
    return found.filter(Boolean).join(' ');
  };
  return { shown, reactionsOf };
}
