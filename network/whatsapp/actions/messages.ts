/** Pins, votes and stars. */
import { randomBytes } from 'node:crypto';
import { isGroupJid, isUserJid, phoneOf } from '@posthorn/contract/jid.ts';
import { SendRefused } from '@posthorn/core/network/driver.ts';
import { forgetAudience, readAudience } from '../audience.ts';
import { isOwnAdmin } from '../group-admins.ts';
import { ownJid, type WhatsAppContext } from '../session-context.ts';
import { relay } from '../session-send.ts';
import { changeState } from '../sync-collections.ts';
import { secretOf, unwrap } from '../wire/content.ts';
import { bodyOf } from '../wire/inbound.ts';
import { type Composed, keyOf } from '../wire/outbound.ts';
import { sealWith } from '../wire/secrets.ts';
import { hashOfOption } from '../wire/votes.ts';
import { findNamed, nameBy } from '../wire-names.ts';
import { type Actions, ask } from './action.ts';

const PIN = { edit: '2' };
const PINNED = 1;
const UNPINNED = 2;
/** The default duration in the apps. */
const PIN_S = 24 * 60 * 60;

/** `SyncdOperation` of the network. */
const SET = 0;

export const messageActions: Pick<Actions, 'pin' | 'poll_vote' | 'star' | 'status_privacy'> = {
  async pin(session, { chat, target, pin, duration_s }) {
    if (isGroupJid(chat) && !(await isOwnAdmin(session, chat))) throw new SendRefused('not_admin');
    const known = await findNamed(session, chat, target.id);
    const now = session.deps.clock.now().getTime();
    const key = keyOf(chat, target, known);
    const message = {
      pinInChatMessage: { key, type: pin ? PINNED : UNPINNED, senderTimestampMs: now },
      messageContextInfo: { messageAddOnDurationInSecs: pin ? duration_s || PIN_S : 0 },
    };
    return { envelope_id: await sendAside(session, chat, message, PIN) };
  },

  async poll_vote(session, { chat, target, options }) {
    const poll = await findNamed(session, chat, target.id);
    const { type, content } = poll ? bodyOf(unwrap(poll.message)) : { type: 'none', content: {} };
    if (!poll || type !== 'poll') throw new SendRefused('message_not_found');
    const secret = secretOf(poll.message);
    if (!secret) throw new SendRefused('poll_secret_missing');
    const offered = content.options as string[];
    if (options.some((option) => !offered.includes(option))) throw new SendRefused('invalid_option');
    if (new Set(options).size > Number(content.max_selections)) throw new SendRefused('too_many_options');
    const selectedOptions = options.map(hashOfOption);
    const vote = session.library.proto.Message.PollVoteMessage.encode({ selectedOptions }).finish();
    // Others open it by the names that the poll came with.
    const sender = await nameBy(session, ownJid(session), poll.names);
    const of = { use: 'Poll Vote', id: target.id, author: poll.from, sender, secret } as const;
    const sealed = sealWith(of, vote);
    const senderTimestampMs = session.deps.clock.now().getTime();
    const pollCreationMessageKey = keyOf(chat, target, poll);
    const message = { pollUpdateMessage: { pollCreationMessageKey, vote: sealed, senderTimestampMs } };
    return { envelope_id: await sendAside(session, chat, message, undefined, { polltype: 'vote' }) };
  },

  /** The library puts stars where no app looks for them, and without the author that those of groups need. */
  async star(session, { chat, target, starred }) {
    const known = await findNamed(session, chat, target.id);
    const { fromMe, participant } = keyOf(chat, target, known);
    const change = {
      syncAction: { starAction: { starred }, timestamp: session.deps.clock.now().getTime() },
      index: ['star', chat, target.id, fromMe ? '1' : '0', participant ?? '0'],
      type: 'regular_high',
      ...{ apiVersion: 2, operation: SET },
    };
    await ask(session, (socket) => changeState(() => socket.appPatch(change)));
    const at = session.deps.clock.now();
    const told = {
      networkId: target.id,
      chat,
      from: ownJid(session),
      at,
      kind: 'starred',
      starred,
    } as const;
    session.arrivals.run(() => session.sink.changes([told])).catch(() => undefined);
    return {};
  },

  async status_privacy(session) {
    forgetAudience(session);
    const { type, list } = await readAudience(session);
    const phones = list.filter(isUserJid).map(phoneOf);
    const kinds = ['contacts', 'blacklist', 'whitelist'] as const;
    return kinds
      .filter((kind) => kind === 'contacts' || kind === type)
      .map((kind) => ({ type: kind, list: kind === type ? phones : [], is_default: kind === type }));
  },
};

/** Sends a message that is not shown by itself, under its own id. */
async function sendAside(
  session: WhatsAppContext,
  chat: string,
  message: Composed['message'],
  attributes?: Record<string, string>,
  meta?: Record<string, string>,
): Promise<string> {
  const id = randomBytes(16).toString('hex').toUpperCase();
  const composed = { message, ...(attributes ? { attributes } : {}), ...(meta ? { meta } : {}) };
  await relay(session, { id, chat, composed, isTail: false });
  return id;
}
