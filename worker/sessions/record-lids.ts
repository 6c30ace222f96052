import { isLidJid } from '@posthorn/contract/jid.ts';
import { recordLids } from '@posthorn/core/lids/record-lids.ts';
import type { NetworkFact } from '@posthorn/core/network/facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';

type Told = Extract<NetworkFact, { kind: 'lid' }>;

const PHONE = /^\d{7,15}$/;

/** Who records what is told of anonymous ids; a pair that is none is passed over. */
export const lidRecorders = {
  lid: (deps: ArrivalsDeps, scope: ArrivalsScope, facts: readonly Told[]): Promise<unknown> =>
    recordLids(deps, scope, facts.filter(isPair)),
};

/** Whether it names somebody: a pair that is none is passed over. */
export function isPair({ lid, phone }: { lid: unknown; phone: unknown }): boolean {
  return typeof lid === 'string' && isLidJid(lid) && typeof phone === 'string' && PHONE.test(phone);
}
