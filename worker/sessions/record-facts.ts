import { recordChatFacts, recordContactFacts } from '@posthorn/core/chats/record-chat-facts.ts';
import { recordLabelFacts } from '@posthorn/core/labels/record-label-facts.ts';
import { knownJid, readPhones } from '@posthorn/core/lids/read-phones.ts';
import type { NetworkFact } from '@posthorn/core/network/facts.ts';
import { recordTemplateFacts } from '@posthorn/core/templates/record-template-facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';
import type { Care } from './bounded-tries.ts';
import { recordCalls } from './record-calls.ts';
import { groupRecorders } from './record-group-facts.ts';
import { lidRecorders } from './record-lids.ts';
import {
  sanitizeCall,
  sanitizeChat,
  sanitizeLabel,
  sanitizeLabelLink,
  sanitizeSaved,
  sanitizeTemplate,
} from './sanitize-facts.ts';

type Kind = NetworkFact['kind'];
type FactOf<K extends Kind> = Extract<NetworkFact, { kind: K }>;
type Record<K extends Kind> = (
  deps: ArrivalsDeps,
  scope: ArrivalsScope,
  facts: readonly FactOf<K>[],
) => Promise<unknown>;

/** The function that records each kind of fact. */
const RECORDERS: { [K in Kind]?: Record<K> } = {
  label: sanitizeThen(sanitizeLabel, recordLabelFacts),
  label_chat: sanitizeThen(sanitizeLabelLink<FactOf<'label_chat'>>, recordLabelFacts),
  label_message: sanitizeThen(sanitizeLabelLink<FactOf<'label_message'>>, recordLabelFacts),
  chat: sanitizeThen(sanitizeChat, recordChatFacts),
  contact: sanitizeThen(sanitizeSaved<FactOf<'contact'>>, recordContactFacts),
  blocked: sanitizeThen(sanitizeSaved<FactOf<'blocked'>>, recordContactFacts),
  call: sanitizeThen(sanitizeCall, recordCalls),
  template: sanitizeThen(sanitizeTemplate, recordTemplateFacts),
  ...groupRecorders,
  ...lidRecorders,
};

/** Records the storable facts; drops facts without a valid id and logs their number. */
function sanitizeThen<K extends Kind>(
  sanitize: (fact: FactOf<K>, now: Date) => FactOf<K> | null,
  record: (deps: ArrivalsDeps, scope: ArrivalsScope, facts: readonly FactOf<K>[]) => Promise<unknown>,
): Record<K> {
  return async (deps, scope, facts) => {
    const now = deps.clock.now();
    const storable = facts.map((fact) => sanitize(fact, now)).filter((fact) => fact !== null);
    const refused = facts.length - storable.length;
    if (refused > 0) {
      const about = { kind: facts[0]?.kind, refused, instance_id: scope.instanceId };
      deps.log.warn(about, 'dropped facts without a valid id');
    }
    if (storable.length > 0) await record(deps, scope, await underKnownAddresses(deps, scope, storable));
  };
}

/** Devices also refer to chats and people by anonymous ids: replaces those whose phone is known. */
async function underKnownAddresses<K extends Kind>(
  deps: ArrivalsDeps,
  { instanceId }: ArrivalsScope,
  facts: FactOf<K>[],
): Promise<FactOf<K>[]> {
  const addresses = facts.flatMap((fact) => ('chat' in fact ? [fact.chat] : 'jid' in fact ? [fact.jid] : []));
  const book = await readPhones(
    deps.db,
    addresses.map((jid) => ({ instanceId, jid })),
  );
  const known = (jid: string) => knownJid(book, { instanceId, jid });
  return facts.map((fact) => ({
    ...fact,
    ...('chat' in fact ? { chat: known(fact.chat) } : {}),
    ...('jid' in fact ? { jid: known(fact.jid) } : {}),
  }));
}

/** Records facts in order; consecutive facts of one kind are recorded together. */
export async function recordFacts(
  { deps, scope }: { deps: ArrivalsDeps; scope: ArrivalsScope },
  facts: readonly NetworkFact[],
  care: Care,
): Promise<void> {
  if (care === 'envelope') return;
  for (let at = 0; at < facts.length; ) {
    const { kind } = facts[at]!;
    const others = facts.slice(at).findIndex((fact) => fact.kind !== kind);
    const end = others < 0 ? facts.length : at + others;
    const record = RECORDERS[kind] as Record<Kind> | undefined;
    await record?.(deps, scope, facts.slice(at, end));
    at = end;
  }
}
