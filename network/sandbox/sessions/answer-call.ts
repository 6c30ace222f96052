/** The calls of a driver, each with one answer. A new one is a line in this table. */
import { phoneOf } from '@posthorn/contract/jid.ts';
import type { NetworkActions } from '@posthorn/core/network/actions.ts';
import { z } from 'zod/v4';
import type { LACKS } from '../client/envelope.ts';
import { target } from '../families/family.ts';
import type { ServerFrame } from '../frames.ts';
import { phoneNumber } from '../phone-number.ts';
import { sendFrame } from '../state/account-session.ts';
import { unpairAccount } from '../state/accounts.ts';
import { arriveAtInstance, newNetworkId, readMessage, takeMessage } from '../state/deliver.ts';
import type { Session } from '../state/model.ts';
import { findTarget } from '../state/recipients.ts';
import { starMessage } from '../state/star.ts';
import type { World } from '../state/world.ts';
import { accountCalls } from './account-calls.ts';
import { businessCalls } from './business-calls.ts';
import { type Call, CallRefused } from './call.ts';
import { deviceCalls } from './device-calls.ts';
import { groupCalls } from './group-calls.ts';
import { lidCalls } from './lid-calls.ts';
import { presenceCalls } from './presence-calls.ts';
import { profileCalls } from './profile-calls.ts';

const pinArgs = z.object({ chat: z.string(), target, pin: z.boolean(), duration_s: z.int().min(0) });
const voteArgs = z.object({ chat: z.string(), target, options: z.array(z.string()) });
const starArgs = z.object({ chat: z.string(), target, starred: z.boolean() });

type Asked = Exclude<keyof NetworkActions, (typeof LACKS)[number]>;

const calls: Readonly<Record<Asked | 'pairing_code' | 'read' | 'logout', Call>> = {
  ...deviceCalls,
  ...accountCalls,

  pairing_code(_world, session, args) {
    const { phone } = z.object({ phone: phoneNumber }).parse(args);
    if (!session.offer) throw new CallRefused('already_paired');
    return { code: session.offer.requestCode(phone) };
  },

  /** Marks messages the instance received as read, and tells the senders. Skips unknown ids. */
  read(world, session, args) {
    const { chat, ids } = z.object({ chat: z.string(), ids: z.array(z.string()) }).parse(args);
    if (!session.account) throw new CallRefused('not_paired');
    const { phone } = session.account;
    const sender = world.phones.get(phoneOf(chat));
    let read = 0;
    for (const id of ids) {
      const message = sender?.sent.get(id);
      if (message?.to !== phone.jid) continue;
      // The driver refers to messages its sink recorded; their ack may still be in transit.
      arriveAtInstance(world, phone, message);
      if (readMessage(world, phone, message)) read++;
    }
    return { read };
  },

  pin(world, session, args) {
    const { chat, target, pin, duration_s } = pinArgs.parse(args);
    return act(world, session, chat, 'pin', { target, pin, duration_s });
  },

  poll_vote(world, session, args) {
    const { chat, target, options } = voteArgs.parse(args);
    return act(world, session, chat, 'poll_vote', { target, options });
  },

  star(world, session, args) {
    const { chat, target, starred } = starArgs.parse(args);
    if (!session.account) throw new CallRefused('not_paired');
    const { phone } = session.account;
    const found = findTarget(world, phone, chat, target);
    if (!found) throw new CallRefused('message_not_found');
    starMessage(world, phone, found, starred);
    return {};
  },

  status_privacy(_world, session) {
    if (!session.account) throw new CallRefused('not_paired');
    const { type: current, list } = session.account.phone.statusPrivacy;
    return (['contacts', 'blacklist', 'whitelist'] as const).map((type) => ({
      type,
      list: type === current ? list : [],
      is_default: type === current,
    }));
  },

  ...groupCalls,
  ...businessCalls,
  ...profileCalls,
  ...presenceCalls,
  ...lidCalls,

  /** The session ends with `logged_out`: that is the answer. */
  logout(world, session) {
    if (!session.account) throw new CallRefused('not_paired');
    unpairAccount(world, session.account);
    return {};
  },
};

/** Sends a message created by the network, and answers with its id. */
function act(
  world: World,
  session: Session,
  chat: string,
  type: string,
  content: Record<string, unknown>,
): { envelope_id: string } {
  if (!session.account) throw new CallRefused('not_paired');
  const plan = world.faults.onSend(session, null);
  const taken =
    plan?.refuse ??
    takeMessage(
      world,
      { id: newNetworkId(), from: session.account.phone, to: chat, type, content },
      { ledger: true },
    );
  if (typeof taken === 'string') throw new CallRefused(taken);
  return { envelope_id: taken.message.id };
}

export function answerCall(
  world: World,
  session: Session,
  frame: { n: number; op: string; args: unknown },
): void {
  const { n } = frame;
  const call = Object.hasOwn(calls, frame.op) ? calls[frame.op as keyof typeof calls] : undefined;
  try {
    if (!call) throw new CallRefused('unsupported_call');
    const value = call(world, session, frame.args);
    world.flush();
    giveAnswer(world, session, { t: 'result', n, value });
  } catch (error) {
    if (error instanceof CallRefused) sendFrame(session, { t: 'result', n, error: error.message });
    else if (error instanceof z.ZodError) sendFrame(session, { t: 'result', n, error: 'invalid_arguments' });
    else throw error;
  }
}

/**
 * Sends the answer immediately unless a fault delays it; events about the call's effect may then precede it.
 */
function giveAnswer(world: World, session: Session, frame: ServerFrame): void {
  const delayMs = world.faults.answerDelayMs(session);
  const give = () => {
    if (session.phase !== 'ended') sendFrame(session, frame);
  };
  if (delayMs === 0) give();
  else world.later(delayMs, give);
}
