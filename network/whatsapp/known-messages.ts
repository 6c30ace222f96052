/** Messages as they went over the wire, kept for what refers to them. */
import type { SessionKey, SessionKeys } from '../driver.ts';
import { KINDS } from './keys.ts';
import type { WhatsAppLibrary } from './library-types.ts';
import type { KnownMessage } from './wire/outbound.ts';

/** What a row has in it; `wire` is the network's own encoding, as base64. */
interface Kept {
  from: string;
  fromMe: boolean;
  at: number;
  wire: string;
}

/** Its row, and that of the chat whose last message it is. */
export function keepMessage(
  library: WhatsAppLibrary,
  known: KnownMessage,
  at: Date,
): [row: SessionKey, tail: SessionKey] {
  const { chat, id, from, fromMe, message } = known;
  const wire = Buffer.from(library.proto.Message.encode(message).finish()).toString('base64');
  const value: Kept = { from, fromMe, at: at.getTime(), wire };
  const tail = { id, fromMe, from, at: at.getTime() };
  return [
    { kind: KINDS.message, id: idOf(chat, id), value, temporary: true },
    { kind: KINDS.tail, id: chat, value: tail, temporary: true },
  ];
}

/** Those of these messages of a chat that are kept, by their ids. */
export async function readMessages(
  deps: { library: WhatsAppLibrary; keys: SessionKeys },
  chat: string,
  ids: readonly string[],
): Promise<Map<string, KnownMessage>> {
  const rows = await deps.keys.read(
    KINDS.message,
    ids.map((id) => idOf(chat, id)),
  );
  const known = ids.flatMap((id): [string, KnownMessage][] => {
    const row = rows.get(idOf(chat, id)) as Kept | undefined;
    if (!row) return [];
    const message = deps.library.proto.Message.decode(Buffer.from(row.wire, 'base64'));
    return [[id, { id, chat, from: row.from, fromMe: row.fromMe, message }]];
  });
  return new Map(known);
}

export async function readMessage(
  deps: { library: WhatsAppLibrary; keys: SessionKeys },
  chat: string,
  id: string,
): Promise<KnownMessage | null> {
  return (await readMessages(deps, chat, [id])).get(id) ?? null;
}

/** The last message of a chat, as changes of the chat name it. */
export async function readTail(
  keys: SessionKeys,
  chat: string,
): Promise<{ id: string; fromMe: boolean; from: string; at: number } | null> {
  const rows = await keys.read(KINDS.tail, [chat]);
  return (rows.get(chat) as { id: string; fromMe: boolean; from: string; at: number } | undefined) ?? null;
}

function idOf(chat: string, id: string): string {
  return `${chat}|${id}`;
}
