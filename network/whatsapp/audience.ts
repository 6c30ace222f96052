/** The audience of a status: saved contacts, filtered by the account's privacy setting. */
import { isLidJid, isUserJid } from '@posthorn/contract/jid.ts';
import { SendRefused, type SessionKey } from '@posthorn/core/network/driver.ts';
import { KINDS } from './keys.ts';
import type { WireNode } from './library-types.ts';
import { unanswered } from './send-errors.ts';
import { type Audience, nameOf, ownJid, requireLive, type WhatsAppContext } from './session-context.ts';
import { withoutDevice } from './wire/jids.ts';
import { childOf, childrenOf } from './wire/nodes.ts';

const AUDIENCE_ID = 'status';
const EVERYBODY: Audience = { type: 'contacts', list: [] };
const TYPES: ReadonlySet<string> = new Set(['contacts', 'blacklist', 'whitelist']);
/** `StatusDistributionMode` of the network, as far as its audience can be told: that of close friends is kept elsewhere. */
const MODES: Readonly<Record<number, Audience['type']>> = { 0: 'whitelist', 1: 'blacklist', 2: 'contacts' };

/** Converts the phone's setting to a row. */
export function audienceChange(value: unknown): SessionKey {
  const { mode, userJid } = (value ?? {}) as { mode?: number; userJid?: string[] };
  const type = MODES[mode ?? -1] ?? 'unknown';
  const audience: Audience = { type, list: (userJid ?? []).map(withoutDevice) };
  return { kind: KINDS.audience, id: AUDIENCE_ID, value: audience };
}

/**
 * As the phone told it, else as the network answered last; with our names for people. Throws SendDeferred or
 * SendUnavailable if the network does not tell it.
 */
export async function readAudience(session: WhatsAppContext): Promise<Audience> {
  const rows = await session.request.keys.read(KINDS.audience, [AUDIENCE_ID]);
  // A phone tells its devices when the setting changes, perhaps never.
  const { type, list } = (rows.get(AUDIENCE_ID) as Audience | undefined) ?? (await askOnce(session));
  const named: string[] = [];
  for (const jid of list) named.push(await nameOf(session, jid));
  return { type, list: named };
}

const QUESTION: WireNode = {
  tag: 'iq',
  attrs: { to: '@s.whatsapp.net', type: 'get', xmlns: 'status' },
  content: [{ tag: 'privacy', attrs: {} }],
};

function askOnce(session: WhatsAppContext): Promise<Audience> {
  if (session.audience) return session.audience;
  const asked = askAudience(session);
  asked.catch(() => forgetAudience(session));
  session.audience = asked;
  return asked;
}

/** From now on the network is asked again: the setting may have changed. */
export function forgetAudience(session: WhatsAppContext): void {
  session.audience = null;
}

/** The network refuses the question of an account that has no setting. */
async function askAudience(session: WhatsAppContext): Promise<Audience> {
  let answer: WireNode;
  try {
    answer = await requireLive(session).socket.query(structuredClone(QUESTION));
  } catch (cause) {
    const { data: code } = cause as { data?: unknown };
    if (code === 400 || code === 404 || code === 501) return EVERYBODY;
    throw unanswered(session, cause);
  }
  const lists = childrenOf(childOf(answer, 'privacy'));
  const chosen = lists.find(({ attrs }) => attrs.default === 'true') ?? lists[0];
  if (!chosen) return EVERYBODY;
  const { type = '' } = chosen.attrs;
  const list = childrenOf(chosen).flatMap(({ attrs }) => (attrs.jid ? [withoutDevice(attrs.jid)] : []));
  return { type: TYPES.has(type) ? (type as Audience['type']) : 'unknown', list };
}

/**
 * The addresses that receive a new status, or a change of one, including our own other devices. Throws as
 * {@link readAudience}, and SendRefused for a new one with an unknown audience: it must not reach more people than the
 * user allows.
 */
export async function audienceOf(session: WhatsAppContext, isNew = true): Promise<string[]> {
  const [{ type, list }, contacts] = await Promise.all([
    readAudience(session),
    session.request.keys.read(KINDS.contact),
  ]);
  if (type === 'unknown' && isNew) throw new SendRefused('status_audience_unknown');
  const saved = [...contacts.keys()].filter(isUserJid);
  const chosen =
    type === 'whitelist' ? list : type === 'blacklist' ? await without(session, saved, list) : saved;
  return [...new Set([...chosen, ownJid(session)])];
}

/** Asks the network for people who are left out by anonymous ids that are not known yet: it must not reach them. */
async function without(
  session: WhatsAppContext,
  saved: readonly string[],
  list: readonly string[],
): Promise<string[]> {
  const hidden = new Set(list);
  if (list.some(isLidJid)) {
    const { lidMapping } = requireLive(session).socket.signalRepository;
    for (const { pn, lid } of (await lidMapping.getLIDsForPNs([...saved]).catch(() => null)) ?? [])
      if (hidden.has(withoutDevice(lid))) hidden.add(withoutDevice(pn));
  }
  return saved.filter((jid) => !hidden.has(jid));
}
