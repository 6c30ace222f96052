/** The timers of chats: a group tells its own with its members, that of another chat comes with what arrives in it. */
import { isGroupJid, isUserJid } from '@posthorn/contract/jid.ts';
import { unansweredOfGroup } from './send-errors.ts';
import type { WhatsAppContext } from './session-context.ts';
import { timerOf } from './wire/content.ts';
import type { WireMessage } from './wire/wire-types.ts';

/**
 * The timer of a chat that is written to; 0 for none. Throws SendRefused, SendDeferred or SendUnavailable if the network does not
 * tell it of a group, and other errors if it could not be read here: then nothing behind the message may overtake it.
 */
export async function readTimer(session: WhatsAppContext, chat: string): Promise<number> {
  if (isUserJid(chat)) return session.timers.of(chat);
  if (!isGroupJid(chat)) return 0;
  const group = await session.groups.read(chat).catch((cause) => {
    throw unansweredOfGroup(session, cause);
  });
  return group.ephemeralDuration ?? 0;
}

/** Learns from a message of a chat, whoever has written it. */
export async function learnTimer(
  session: WhatsAppContext,
  chat: string,
  message: WireMessage,
): Promise<void> {
  const seconds = isUserJid(chat) ? timerOf(message) : null;
  if (seconds !== null) await session.timers.learn(chat, seconds);
}
