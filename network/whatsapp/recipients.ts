/** Checks whom a message goes to, before it is composed: what the network takes and nobody would see is refused. */
import { isGroupJid, isUserJid, phoneOf, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { type OutboundMessage, SendRefused } from '@posthorn/core/network/driver.ts';
import { drawBytes } from '@posthorn/core/platform/draw-bytes.ts';
import { audienceOf } from './audience.ts';
import { isOwnAdmin } from './group-admins.ts';
import type { WireNode } from './library-types.ts';
import { notNow, unanswered } from './send-errors.ts';
import { isOwn, ownJid, requireLive, type WhatsAppContext } from './session-context.ts';
import { tell } from './tell-facts.ts';
import { accountsQuestion, readAccounts } from './wire/accounts.ts';
import { withoutDevice } from './wire/jids.ts';
import { childOf, childrenOf } from './wire/nodes.ts';

/** Changes of other messages: nothing can refer to them, and they are never the last message of a chat. */
export const CHANGES: ReadonlySet<string> = new Set(['edit', 'delete', 'reaction']);

type Address = OutboundMessage['to'];

/**
 * Where the message is to be sent: {@link addressOf} its recipient. Throws SendRefused, SendDeferred, or
 * SendUnavailable.
 */
export async function requireRecipient(session: WhatsAppContext, message: OutboundMessage): Promise<Address> {
  const to = await addressOf(session, message.to);
  await requireAudience(session, message);
  await requireAddress(session, to);
  await requireDeletable(session, message);
  return to;
}

/**
 * The account that a number leads to, which may have another number: those in Brazil from before 2012 lack the ninth
 * digit that everybody writes. The network takes messages for any number, and delivers those for one without an
 * account only to our own devices. The owner is told, since the people behind it write from the account's number.
 * Throws SendRefused, SendDeferred, or SendUnavailable.
 */
export async function addressOf(session: WhatsAppContext, jid: Address): Promise<Address> {
  if (!isUserJid(jid) || jid === ownJid(session)) return jid;
  const known = knownAddressOf(session, jid);
  if (known) return known;
  const { socket } = requireLive(session);
  const question = accountsQuestion([phoneOf(jid)], Buffer.from(drawBytes(8)).toString('hex'), 'ids');
  const asked = socket.query(question).then(readAccounts);
  const found = await asked.catch((cause) => {
    throw unanswered(session, cause);
  });
  const account = found.find((each) => each.exists);
  if (!account) {
    // A number that leads here may have an account of its own by now.
    session.accounts.forget(jid);
    throw new SendRefused('recipient_not_found');
  }
  const named = withoutDevice(account.jid);
  const address = isUserJid(named) ? named : jid;
  // The number of an account that was deleted and made anew leads to another id: the former one has no devices any more.
  if (account.lid) {
    const { lidMapping } = socket.signalRepository;
    await lidMapping.storeLIDPNMappings([{ lid: account.lid, pn: address }]).catch(() => undefined);
  }
  session.accounts.set(jid, address);
  const at = session.deps.clock.now();
  const pair = async () => [{ kind: 'lid' as const, lid: jid, phone: phoneOf(address), at }];
  // Else the next send would not ask, and the owner never learn it.
  if (address !== jid) tell(session, pair, () => session.accounts.forget(address));
  return address as Address;
}

/** The same for a number that this session has written to. */
export function knownAddressOf(session: WhatsAppContext, jid: string): Address | undefined {
  return session.accounts.get(jid) as Address | undefined;
}

/** Refuses a status without an audience: the network would accept it, and nobody would ever see it. */
async function requireAudience(session: WhatsAppContext, { to, type }: OutboundMessage): Promise<void> {
  if (to !== STATUS_BROADCAST || CHANGES.has(type)) return;
  const audience = await audienceOf(session);
  if (audience.every((jid) => jid === ownJid(session))) throw new SendRefused('status_audience_empty');
}

/** Maximum queries, at growing intervals, for an anonymous id that the network does not return. */
const LID_TRIES = 5;
const NO_ADDRESS = 'recipient_not_addressable';

/**
 * The network gives a contact's keys only for its anonymous id: without that and without a session, nothing
 * can be encrypted.
 */
async function requireAddress(session: WhatsAppContext, jid: string): Promise<void> {
  if (!isUserJid(jid) || jid === ownJid(session)) return;
  const { lidMapping, validateSession } = requireLive(session).socket.signalRepository;
  if (await lidMapping.getLIDForPN(jid).catch(() => null)) return;
  if ((await validateSession(jid)).exists) return;
  if (session.lids.failures(jid) >= LID_TRIES) throw new SendRefused(NO_ADDRESS);
  throw notNow(session, NO_ADDRESS);
}

/**
 * Throws for an encrypted message to a person that is for none of their devices: the network takes it, and gives it to
 * those of the account alone.
 */
export function requireDevice(session: WhatsAppContext, chat: string, stanza: WireNode): void {
  if (!isUserJid(chat) || chat === ownJid(session)) return;
  const devices = childrenOf(childOf(stanza, 'participants'));
  if (devices.some(({ attrs }) => attrs.jid && !isOwn(session, attrs.jid))) return;
  // It may have no account any more.
  session.accounts.forget(chat);
  throw new Error('no device of the recipient is known');
}

/** Refuses to delete what others wrote, but as an admin of the group: the network would take it, and no app do it. */
async function requireDeletable(
  session: WhatsAppContext,
  { to, type, target }: OutboundMessage,
): Promise<void> {
  if (type !== 'delete' || target?.from_me !== false) return;
  const isAdmin =
    isGroupJid(to) &&
    (await isOwnAdmin(session, to).catch((cause) => {
      throw cause instanceof SendRefused ? cause : unanswered(session, cause);
    }));
  if (!isAdmin) throw new SendRefused('not_allowed');
}
