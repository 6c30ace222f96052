/** Pairing a phone with an instance, and ending it. */
import { randomBytes } from 'node:crypto';
import { endSession } from './account-session.ts';
import { catchUp } from './change-phone.ts';
import { deliver, pushMessage } from './deliver.ts';
import { createEventQueue } from './event-queue.ts';
import { tellOwnGroups } from './group-facts.ts';
import { handOverHistory } from './history.ts';
import type { Account, Phone } from './model.ts';
import { phoneFor } from './phones.ts';
import { accountRecord } from './records.ts';
import type { World } from './world.ts';

/**
 * Pairs a number with an instance. A phone has one pairing here: pairing it anew voids the old one, as when an instance
 * was deleted without logging out. Messages that wait for the phone go to the instance.
 */
export function pairAccount(world: World, number: string, instanceId: string): Account {
  const phone = phoneFor(world, number);
  if (phone.account) unpairAccount(world, phone.account);
  const token = randomBytes(32).toString('base64url');
  const account = addAccount(world, phone, {
    token,
    instanceId,
    pushName: phone.name,
    epoch: 0,
    acked: 0,
    secretsSince: Date.now(),
  });
  world.journal.append(accountRecord(account));
  tellOwnGroups(world, account);
  handOverHistory(world, account);
  const waiting = phone.waiting;
  phone.waiting = [];
  for (const message of waiting) pushMessage(world, phone, message);
  return account;
}

export interface AccountFacts {
  token: string;
  instanceId: string;
  pushName: string;
  epoch: number;
  acked: number;
  secretsSince: number;
}

/** Adds an account without writing to the journal. */
export function addAccount(world: World, phone: Phone, facts: AccountFacts): Account {
  const account: Account = {
    phone,
    token: facts.token,
    instanceId: facts.instanceId,
    pushName: facts.pushName,
    epoch: facts.epoch,
    secretsSince: facts.secretsSince,
    events: createEventQueue(facts.acked),
    toldLids: new Set(),
    available: null,
    session: null,
    connections: new Set(),
    stats: { logins: 0, maxLive: 0, kicks: 0, staleLogins: 0 },
  };
  phone.account = account;
  world.accountsByToken.set(facts.token, account);
  return account;
}

/** Voids the credentials, ends the session, and gives the phone back what its instance never got. */
export function unpairAccount(world: World, account: Account): void {
  const { phone } = account;
  world.accountsByToken.delete(account.token);
  phone.account = null;
  world.journal.append(['unpaired', phone.phone]);
  if (account.session) endSession(world, account.session, 'logged_out');
  for (const { message } of account.events.all()) if (message) deliver(world, phone, message);
  catchUp(world, phone);
}

/** An unused number. Country code 999 is assigned to no country, so it is no real phone. */
export function freshNumber(world: World): string {
  let next = world.phones.size + 1;
  let number: string;
  do number = `9990${String(next++).padStart(7, '0')}`;
  while (world.phones.has(number));
  return number;
}
