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

/** When a message was stored; `revision` grows with each one of the session. */
export interface Stamp {
  at: Date;
  revision: number;
}

/** The last message of a chat, as a row keeps it. */
interface Tail {
  id: string;
  fromMe: boolean;
  from: string;
  at: number;
  /** Absent in rows of older versions. */
  revision?: number;
}

/** The rows that store a message: its own, and that of its chat's last message of the account itself, or of others. */
export function rowsOfMessage(
  library: WhatsAppLibrary,
  known: KnownMessage,
  { at, revision }: Stamp,
): [row: SessionKey, tail: SessionKey] {
  const { chat, id, list, names, from, fromMe, message } = known;
  const value: Kept = { from, fromMe, at: at.getTime(), wire: encode(library, message), list, names };
  const tail: Tail = { id, fromMe, from, at: at.getTime(), revision };
  return [
    { kind: KINDS.message, id: idOf(chat, id), value, temporary: true },
    { kind: fromMe ? KINDS.tail : KINDS.heard, id: chat, value: tail, temporary: true },
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

/** The last message of a chat; null: none is known. */
export async function readTail(keys: SessionKeys, chat: string): Promise<Tail | null> {
  const { own, heard } = await readTails(keys, chat);
  if (!own || !heard) return own ?? heard ?? null;
  return (own.revision ?? 0) > (heard.revision ?? 0) ? own : heard;
}

/** The last message of others in a chat; null: none is known. */
export async function readLastHeard(keys: SessionKeys, chat: string): Promise<Tail | null> {
  const { own, heard } = await readTails(keys, chat);
  if (heard) return heard;
  // Older versions had one row for the last message, whoever wrote it.
  return own && !own.fromMe ? own : null;
}

async function readTails(
  keys: SessionKeys,
  chat: string,
): Promise<{ own: Tail | undefined; heard: Tail | undefined }> {
  const [own, heard] = await Promise.all([keys.read(KINDS.tail, [chat]), keys.read(KINDS.heard, [chat])]);
  return { own: own.get(chat) as Tail | undefined, heard: heard.get(chat) as Tail | undefined };
}

/** The name under which a message is stored. */
export function idOf(chat: string, id: string): string {
  return `${chat}|${id}`;
}
