/** The audience of a status: saved contacts, filtered by the phone's privacy setting. */
import { isUserJid } from '@posthorn/contract/jid.ts';
import type { SessionKey } from '@posthorn/core/network/driver.ts';
import { KINDS } from './keys.ts';
import type { WhatsAppContext } from './session-context.ts';
import { ownJid } from './session-context.ts';
import { withoutDevice } from './wire/jids.ts';

export type AudienceType = 'contacts' | 'blacklist' | 'whitelist';

/** The setting as stored on the phone. */
export interface Audience {
  type: AudienceType;
  list: string[];
}

const AUDIENCE_ID = 'status';
const EVERYBODY: Audience = { type: 'contacts', list: [] };
/** `StatusDistributionMode` of the network. */
const MODES: Readonly<Record<number, AudienceType>> = { 0: 'whitelist', 1: 'blacklist', 2: 'contacts' };

/** Converts the phone's setting to a row. */
export function audienceChange(value: unknown): SessionKey | null {
  const { mode, userJid } = (value ?? {}) as { mode?: number; userJid?: string[] };
  const type = MODES[mode ?? -1];
  if (!type) return null;
  const audience: Audience = { type, list: (userJid ?? []).map(withoutDevice) };
  return { kind: KINDS.audience, id: AUDIENCE_ID, value: audience };
}

export async function readAudience(session: WhatsAppContext): Promise<Audience> {
  const rows = await session.request.keys.read(KINDS.audience, [AUDIENCE_ID]);
  return (rows.get(AUDIENCE_ID) as Audience | undefined) ?? EVERYBODY;
}

/** The addresses that receive a status, including our own other devices. */
export async function audienceOf(session: WhatsAppContext): Promise<string[]> {
  const [{ type, list }, contacts] = await Promise.all([
    readAudience(session),
    session.request.keys.read(KINDS.contact),
  ]);
  const saved = [...contacts.keys()].filter(isUserJid);
  const listed = new Set(list);
  const chosen =
    type === 'whitelist' ? list : type === 'blacklist' ? saved.filter((jid) => !listed.has(jid)) : saved;
  return [...new Set([...chosen, ownJid(session)])];
}
