import { hash } from 'node:crypto';
import type { Sql } from '../platform/database/db.ts';
import { canonicalJson, hashKey } from '../platform/hashes.ts';
import type { SendCommand } from './send-command.ts';

/** The content of a send, by the ids under which it counts as sent to its chat. */
export interface Content {
  hash: string;
  id: string;
  /** The ids that it had when the chat had other addresses. */
  otherIds: string[];
}

export function contentOf({ instanceId, message, otherAddresses = [] }: SendCommand): Content | null {
  if (!message) return null;
  const contentHash = hash(
    'sha256',
    canonicalJson([message.type, message.content, message.mediaHash]),
    'hex',
  );
  const idIn = (chatJid: string) => hashKey(instanceId, chatJid, contentHash);
  return { hash: contentHash, id: idIn(message.chatJid), otherIds: otherAddresses.map(idIn) };
}

/** The content as it was sent to the chat before, whichever address it had then. */
export function sentBefore(
  contents: ReadonlyMap<string, SentContent>,
  { id, otherIds }: Content,
): SentContent | undefined {
  return [id, ...otherIds].map((each) => contents.get(each)).find((sent) => sent !== undefined);
}

/** A content that counts as sent to its chat within the window (SND-13). */
export interface SentContent {
  firstSentAt: string;
  /** Its sends that wait, and may still fail; null: one of them is known to have gone out. */
  waiting: number | null;
}

/** A send of a content within the window, as its key has it. */
export interface KnownContent {
  id: string;
  ms: number;
  messageId: string | null;
}

/** Maximum waiting sends of one content that count: each is read by every further accept of that content. */
const COUNTED_MAX = 8;

/** Reads the known contents that count. As rare as a key that is used again. */
export async function readContents(
  client: Sql,
  known: readonly KnownContent[],
): Promise<Map<string, SentContent>> {
  const { rows } = await client.query<{ id: string; isUnsent: boolean }>({
    name: 'accept-read-contents',
    text: READ_UNCERTAIN,
    values: [known.map((content) => content.messageId)],
  });
  const uncertain = new Map(rows.map((row) => [row.id, row]));
  const contents = new Map<string, SentContent>();
  for (const { id, messageId, ms } of known.toSorted((a, b) => a.ms - b.ms)) {
    const send = messageId === null ? undefined : uncertain.get(messageId);
    if (send?.isUnsent) continue;
    const { firstSentAt, waiting } = contents.get(id) ?? {
      firstSentAt: new Date(ms).toISOString(),
      waiting: 0,
    };
    contents.set(id, { firstSentAt, waiting: send === undefined || waiting === null ? null : waiting + 1 });
  }
  return contents;
}

/**
 * Counts an accepted content; true if its id has to be stored with the key of the send. Until one of its sends is known to have
 * gone out each of them may fail, so those that are forced meanwhile count by themselves.
 */
export function countContent(
  contentId: string,
  known: { contents: Map<string, SentContent>; unsentContents: ReadonlySet<string> },
  rows: { unsentContents: string[] },
  now: Date,
): boolean {
  const before = known.contents.get(contentId);
  const waiting = before ? before.waiting : 0;
  if (waiting === null || waiting >= COUNTED_MAX) return false;
  const firstSentAt = before?.firstSentAt ?? now.toISOString();
  known.contents.set(contentId, { firstSentAt, waiting: waiting + 1 });
  if (!before && known.unsentContents.has(contentId)) rows.unsentContents.push(contentId);
  return true;
}

// Those that are not with the recipient: they wait, or failed. A failure with one of these reasons may have
// reached it all the same (wire_state unknown).
const READ_UNCERTAIN = `
SELECT id, status = 'failed' AS "isUnsent" FROM messages
WHERE id = ANY ($1::uuid[])
  AND (status = 'queued' OR (status = 'failed' AND failed_reason NOT IN ('outcome_unknown', 'send_failed')))`;
