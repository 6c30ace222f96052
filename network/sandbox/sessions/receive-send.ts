/** Handles one envelope from an instance: refuses it, or enters it in the ledger and delivers it. */
import { isGroupJid, isUserJid, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { families } from '../families/registry.ts';
import type { SendPlan } from '../faults/fault.ts';
import type { SendItem } from '../frames.ts';
import { cutSession } from '../state/account-session.ts';
import { takeMessage } from '../state/deliver.ts';
import { maySend } from '../state/groups.ts';
import type { Account, Session } from '../state/model.ts';
import { phoneForJid } from '../state/phones.ts';
import type { World } from '../state/world.ts';

/**
 * Takes a send and answers it: an ack once it is in the ledger (a repeated id of this account is dropped,
 * counted and acked), or a refusal with its reason. Faults may apply at each stage. Envelopes are taken in
 * order: none that follows a swallowed one.
 */
export function acceptSend(world: World, session: Session, item: SendItem): void {
  const { account } = session;
  if (session.phase !== 'live' || !account) return;
  if (item.after !== undefined && session.swallowed.has(item.after)) {
    session.swallowed.add(item.n);
    return;
  }
  const plan = world.faults.onSend(session, isUserJid(item.to) ? phoneForJid(world, item.to) : null);
  if (strikes(session, plan, 'before_ledger')) {
    session.swallowed.add(item.n);
    return;
  }
  const taken = plan?.refuse ?? enterLedger(world, account, item);
  if (typeof taken === 'string') {
    world.ledger.addRefusal(account.phone.jid);
    world.journal.append(['refused', account.phone.phone]);
    answer(world, session, `[${item.n},0,${JSON.stringify(taken)}]`, plan);
  } else if (!strikes(session, plan, 'after_ledger')) {
    answer(world, session, `[${item.n},${taken}]`, plan);
  }
}

/** Whether a fault ends this send here: cuts the connection, or sends no answer. */
function strikes(session: Session, plan: SendPlan | null, stage: 'before_ledger' | 'after_ledger'): boolean {
  if (plan?.dropAt === stage) cutSession(session);
  return plan?.dropAt === stage || plan?.silentAt === stage;
}

/** When the network took it (Unix ms), or the reason for refusing it. */
function enterLedger(world: World, account: Account, item: SendItem): number | string {
  const refusal = refuseRecipient(world, account, item);
  if (refusal) return refusal;
  const known = account.phone.sent.get(item.id);
  if (known) {
    world.ledger.addDuplicate(known);
    world.journal.append(['again', account.phone.phone, item.id]);
    return known.at;
  }
  const family = families.get(item.type);
  if (!family) return 'unsupported_type';
  const content = family.content.safeParse(item.content);
  if (!content.success) return 'invalid_content';
  const taken = takeMessage(
    world,
    {
      id: item.id,
      from: account.phone,
      to: item.to,
      type: item.type,
      content: content.data,
      quotedId: item.quoted,
    },
    { ledger: true },
  );
  return typeof taken === 'string' ? taken : taken.message.at;
}

function refuseRecipient(world: World, account: Account, { to, type }: SendItem): string | null {
  if (isUserJid(to) || to === STATUS_BROADCAST) return null;
  if (!isGroupJid(to)) return 'invalid_recipient';
  const group = world.groups.get(to);
  if (!group) return 'group_not_found';
  if (!group.participants.has(account.phone)) return 'not_a_participant';
  return maySend(group, account.phone, type) ? null : 'only_admins_send';
}

function answer(world: World, session: Session, ack: string, plan: SendPlan | null) {
  const put = () => {
    if (session.phase !== 'live') return;
    session.acks.push(ack);
    if (plan?.dropAt === 'after_ack') session.cutAfterFlush = true;
    world.wake(session);
  };
  if (plan && plan.delayMs > 0) world.later(plan.delayMs, put);
  else put();
}
