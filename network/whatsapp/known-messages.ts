/** Stores messages in wire format for later references to them. */
import type { SessionKey, SessionKeys } from '@posthorn/core/network/driver.ts';
import type { Names } from './addressing.ts';
import { KINDS } from './keys.ts';
import type { WhatsAppLibrary } from './library-types.ts';
import { withWords } from './wire/content.ts';
import { isId } from './wire/ids.ts';
import type { KnownMessage } from './wire/outbound.ts';
import type { WireMessage } from './wire/wire-types.ts';

/** A stored row; `wire` is the network's own encoding, as base64. */
interface Kept {
  from: string;
  fromMe: boolean;
  at: number;
  wire: string;
  list?: string | undefined;
  /** Absent in rows of older versions. */
  names?: Names | undefined;
}

/** The rows that store a message: its own, that of its chat's last message, and that of the last one of others. */
export function rowsOfMessage(
  library: WhatsAppLibrary,
  known: KnownMessage,
  at: Date,
): [row: SessionKey, tail: SessionKey, ...heard: SessionKey[]] {
  const { chat, id, list, names, from, fromMe, message } = known;
  const value: Kept = { from, fromMe, at: at.getTime(), wire: encode(library, message), list, names };
  const tail = { id, fromMe, from, at: at.getTime() };
  return [
    { kind: KINDS.message, id: idOf(chat, id), value, temporary: true },
    { kind: KINDS.tail, id: chat, value: tail, temporary: true },
    ...(fromMe ? [] : [{ kind: KINDS.heard, id: chat, value: { id }, temporary: true }]),
  ];
}

/**
 * Replaces the text of a stored message; null: it was deleted, and only its author stays. Does nothing if the
 * message is not stored.
 */
export async function keepWords(
  deps: { library: WhatsAppLibrary; keys: SessionKeys },
  chat: string,
  id: string,
  words: { text?: unknown; caption?: unknown } | null,
): Promise<void> {
  const row = (await readRows(deps.keys, chat, [id])).get(id);
  const message = row && decode(deps.library, row.wire);
  if (!row || !message) return;
  const value: Kept = { ...row, wire: encode(deps.library, words ? withWords(message, words) : {}) };
  await deps.keys.write([{ kind: KINDS.message, id: idOf(chat, id), value, temporary: true }]);
}

/** The stored ones of these messages of a chat, by id. */
export async function readMessages(
  deps: { library: WhatsAppLibrary; keys: SessionKeys },
  chat: string,
  ids: readonly string[],
): Promise<Map<string, KnownMessage>> {
  const rows = await readRows(deps.keys, chat, ids);
  const known = new Map<string, KnownMessage>();
  for (const [id, { from, fromMe, wire, list, names }] of rows) {
    const message = decode(deps.library, wire);
    if (message) known.set(id, { id, chat, list, names, from, fromMe, message });
  }
  return known;
}

function encode(library: WhatsAppLibrary, message: WireMessage): string {
  return Buffer.from(library.proto.Message.encode(message).finish()).toString('base64');
}

/** Null if decoding fails, e.g. because of too deep nesting: a retry would fail too. */
function decode(library: WhatsAppLibrary, wire: string): WireMessage | null {
  try {
    return library.proto.Message.decode(Buffer.from(wire, 'base64'));
  } catch {
    return null;
  }
}

/** The authors of the stored ones of these messages, by {@link idOf}. */
export async function readAuthors(
  keys: SessionKeys,
  messages: readonly { chat: string; id: string }[],
): Promise<Map<string, { from: string; fromMe: boolean }>> {
  const names = messages.filter(({ id }) => isId(id)).map(({ chat, id }) => idOf(chat, id));
  if (names.length === 0) return new Map();
  return (await keys.read(KINDS.message, names)) as Map<string, Kept>;
}

/** The rows of these messages, by id. Strangers choose ids too: an invalid id is never stored. */
async function readRows(keys: SessionKeys, chat: string, ids: readonly string[]): Promise<Map<string, Kept>> {
  const named = ids.filter(isId);
  if (named.length === 0) return new Map();
  const rows = await keys.read(
    KINDS.message,
    named.map((id) => idOf(chat, id)),
  );
  return new Map(
    named.flatMap((id): [string, Kept][] => {
      const row = rows.get(idOf(chat, id)) as Kept | undefined;
      return row ? [[id, row]] : [];
    }),
  );
}

export async function readMessage(
  deps: { library: WhatsAppLibrary; keys: SessionKeys },
  chat: string,
  id: string,
): Promise<KnownMessage | null> {
  return (await readMessages(deps, chat, [id])).get(id) ?? null;
}

/** The last message of a chat, as chat changes name it. */
export async function readTail(
  keys: SessionKeys,
  chat: string,
): Promise<{ id: string; fromMe: boolean; from: string; at: number } | null> {
  const rows = await keys.read(KINDS.tail, [chat]);
  return (rows.get(chat) as { id: string; fromMe: boolean; from: string; at: number } | undefined) ?? null;
}

/** The id of the last message of others in a chat; null: none is known, or the account itself wrote the last one that is. */
export async function readLastHeard(keys: SessionKeys, chat: string): Promise<string | null> {
  const heard = (await keys.read(KINDS.heard, [chat])).get(chat) as { id: string } | undefined;
  if (heard) return heard.id;
  // An older version kept only the last message.
  const tail = await readTail(keys, chat);
  return tail && !tail.fromMe ? tail.id : null;
}

/** The name under which a message is stored. */
export function idOf(chat: string, id: string): string {
  return `${chat}|${id}`;
}
