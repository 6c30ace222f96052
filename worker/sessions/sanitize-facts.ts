/** Facts made into what can be stored, as messages are (sanitize.ts): null for one that names nothing. */
import { LABEL_COLOR_MAX } from '@posthorn/contract/limits.ts';
import type { HistoryBatch, HistoryChat, NetworkFact } from '@posthorn/core/network/facts.ts';
import { isAddress, isId, sanitizeDate, sanitizeText } from './sanitize.ts';

const NAME_MAX_CHARS = 1024;
const LABEL_ID_MAX_CHARS = 16;
const COUNT_MAX = 2_000_000_000;

type FactOf<K extends NetworkFact['kind']> = Extract<NetworkFact, { kind: K }>;

export function sanitizeLabel(fact: FactOf<'label'>, now: Date): FactOf<'label'> | null {
  if (!isRevision(fact.revision) || !isLabelId(fact.labelId)) return null;
  return {
    ...fact,
    name: sanitizeText(fact.name, NAME_MAX_CHARS),
    color: isCount(fact.color) && fact.color <= LABEL_COLOR_MAX ? fact.color : 0,
    deleted: fact.deleted === true,
    at: sanitizeDate(fact.at, now),
  };
}

export function sanitizeLabelLink<F extends FactOf<'label_chat'> | FactOf<'label_message'>>(
  fact: F,
  now: Date,
): F | null {
  if (!isRevision(fact.revision) || !isLabelId(fact.labelId) || !isAddress(fact.chat)) return null;
  if (fact.kind === 'label_message' && !isId(fact.target?.id)) return null;
  return { ...fact, associated: fact.associated === true, at: sanitizeDate(fact.at, now) };
}

export function sanitizeChat(fact: FactOf<'chat'>, now: Date): FactOf<'chat'> | null {
  const { revision, chat, archived, pinned, read, mutedUntil } = fact;
  if (!isRevision(revision) || !isAddress(chat) || chat.endsWith('@broadcast')) return null;
  return {
    kind: 'chat',
    revision,
    chat,
    ...(typeof archived === 'boolean' ? { archived } : {}),
    ...(typeof pinned === 'boolean' ? { pinned } : {}),
    ...(typeof read === 'boolean' ? { read } : {}),
    ...(mutedUntil === undefined ? {} : { mutedUntil: sanitizeMute(mutedUntil) }),
    at: sanitizeDate(fact.at, now),
  };
}

export function sanitizeSaved<F extends FactOf<'contact'> | FactOf<'blocked'>>(fact: F): F | null {
  if (!isRevision(fact.revision) || !isAddress(fact.jid)) return null;
  if (fact.kind === 'blocked') return { ...fact, blocked: fact.blocked === true };
  return { ...fact, name: sanitizeText(fact.name, NAME_MAX_CHARS) };
}

export function sanitizeCall(fact: FactOf<'call'>, now: Date): FactOf<'call'> | null {
  const { callId, from, group } = fact;
  if (!isId(callId) || !isAddress(from) || (group !== null && !isAddress(group))) return null;
  return { kind: 'call', callId, from, group, video: fact.video === true, at: sanitizeDate(fact.at, now) };
}

export function sanitizeTemplate(fact: FactOf<'template'>, now: Date): FactOf<'template'> | null {
  const { templateId, name, language, change } = fact;
  if (!isId(templateId)) return null;
  const words = Object.entries(change).map(([key, value]) => [
    key,
    typeof value === 'string' ? sanitizeText(value, NAME_MAX_CHARS) : null,
  ]);
  return {
    kind: 'template',
    templateId,
    name: sanitizeText(name, NAME_MAX_CHARS),
    language: sanitizeText(language, NAME_MAX_CHARS),
    change: Object.fromEntries(words),
    at: sanitizeDate(fact.at, now),
  };
}

export function sanitizePastChat(chat: HistoryChat): HistoryChat | null {
  if (!isAddress(chat.chat) || chat.chat.endsWith('@broadcast')) return null;
  return {
    chat: chat.chat,
    name: sanitizeText(chat.name, NAME_MAX_CHARS),
    unreadCount: isCount(chat.unreadCount) ? Math.min(chat.unreadCount, COUNT_MAX) : 0,
    archived: chat.archived === true,
    pinned: chat.pinned === true,
    mutedUntil: sanitizeMute(chat.mutedUntil),
  };
}

export function sanitizeContact(
  contact: HistoryBatch['contacts'][number],
): HistoryBatch['contacts'][number] | null {
  if (!isAddress(contact.jid)) return null;
  const { name, pushName } = contact;
  return {
    jid: contact.jid,
    name: sanitizeText(name, NAME_MAX_CHARS),
    pushName: sanitizeText(pushName, NAME_MAX_CHARS),
  };
}

/** A value that is neither a time nor "no end" does not mute. */
function sanitizeMute(until: unknown): number | null {
  if (!isCount(until)) return null;
  // A date beyond JavaScript's range means no end in practice.
  return until > 8.64e15 ? 0 : until;
}

function isLabelId(value: unknown): value is string {
  return isId(value) && value.length <= LABEL_ID_MAX_CHARS;
}

function isRevision(value: unknown): value is number {
  return isCount(value) && value > 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
