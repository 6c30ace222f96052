import { isAnonymousJid } from '@posthorn/contract/jid.ts';
import { recordLids } from '@posthorn/core/lids/record-lids.ts';
import type { NetworkFact } from '@posthorn/core/network/facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';

type Told = Extract<NetworkFact, { kind: 'lid' }>;

const PHONE = /^\d{7,15}$/;

/** Records pairs of anonymous id and phone; skips invalid ones. */
export const lidRecorders = {
  lid: (deps: ArrivalsDeps, scope: ArrivalsScope, facts: readonly Told[]): Promise<unknown> =>
    recordLids(deps, scope, facts.filter(isPair)),
};

/** Whether both ids are valid. */
export function isPair({ lid, phone }: { lid: unknown; phone: unknown }): boolean {
  return typeof lid === 'string' && isAnonymousJid(lid) && typeof phone === 'string' && PHONE.test(phone);
}
