import type { Message } from '@posthorn/sdk/index.ts';

/** Reactions are messages of their own; a conversation shows them at what they react to. */
export function foldReactions(rows: readonly Message[]) {
  const byTarget = new Map<string, Map<string, string>>();
  const shown: Message[] = [];
  // Newest first: of each person the first one counts, and an empty one takes theirs back.
  for (const row of rows) {
    const { message_id: target, emoji } = row.content;
    if (row.message_type !== 'reaction' || typeof target !== 'string') {
      if (row.message_type !== 'reaction') shown.push(row);
      continue;
    }
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
