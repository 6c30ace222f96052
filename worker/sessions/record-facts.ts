import type { NetworkFact } from '@posthorn/network/facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';
import type { Care } from './bounded-tries.ts';
import { recordCalls } from './record-calls.ts';

type Kind = NetworkFact['kind'];
type FactOf<K extends Kind> = Extract<NetworkFact, { kind: K }>;
type Record<K extends Kind> = (
  deps: ArrivalsDeps,
  scope: ArrivalsScope,
  facts: readonly FactOf<K>[],
) => Promise<unknown>;

/** Who records which facts. */
const RECORDERS: { [K in Kind]?: Record<K> } = { call: recordCalls };

/** Records facts in their order; those of one kind that follow each other go together. */
export async function recordFacts(
  { deps, scope }: { deps: ArrivalsDeps; scope: ArrivalsScope },
  facts: readonly NetworkFact[],
  care: Care,
): Promise<void> {
  if (care === 'husk') return;
  for (let at = 0; at < facts.length; ) {
    const { kind } = facts[at]!;
    const others = facts.slice(at).findIndex((fact) => fact.kind !== kind);
    const end = others < 0 ? facts.length : at + others;
    const record = RECORDERS[kind] as Record<Kind> | undefined;
    await record?.(deps, scope, facts.slice(at, end));
    at = end;
  }
}
