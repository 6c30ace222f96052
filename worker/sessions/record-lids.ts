import { isUserIdJid, jidOfPhone } from '@posthorn/contract/jid.ts';
import { mayStandForAnother } from '@posthorn/core/lids/read-phones.ts';
import { recordLids } from '@posthorn/core/lids/record-lids.ts';
import { recordUserIds } from '@posthorn/core/lids/record-user-ids.ts';
import type { NetworkFact } from '@posthorn/core/network/facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';

type Told = Extract<NetworkFact, { kind: 'lid' }>;
type Changed = Extract<NetworkFact, { kind: 'user_id' }>;

const PHONE = /^\d{7,15}$/;

/** Records pairs of an id, or a number, and the account's phone, and of a former id and the present one; skips invalid ones. */
export const lidRecorders = {
  lid: (deps: ArrivalsDeps, scope: ArrivalsScope, facts: readonly Told[]): Promise<unknown> =>
    recordLids(deps, scope, facts.filter(isPair)),
  user_id: (deps: ArrivalsDeps, scope: ArrivalsScope, facts: readonly Changed[]): Promise<unknown> =>
    recordUserIds(deps, scope, facts.filter(isChange)),
};

/** Whether both ids are valid. */
export function isPair({ lid, phone }: { lid: unknown; phone: unknown }): boolean {
  if (typeof lid !== 'string' || typeof phone !== 'string') return false;
  return mayStandForAnother(lid) && PHONE.test(phone) && jidOfPhone(phone) !== lid;
}

function isChange({ from, to }: { from: unknown; to: unknown }): boolean {
  return (
    typeof from === 'string' && typeof to === 'string' && isUserIdJid(from) && isUserIdJid(to) && from !== to
  );
}
