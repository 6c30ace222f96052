import { buildEvent } from '../events/build-event.ts';
import type { NewEvent } from '../events/insert-events.ts';
import { type RecorderDeps, recordUnderLease } from '../instances/create-recorder.ts';
import type { Lease } from '../instances/lock-leases.ts';
import type { NetworkFact } from '../network/facts.ts';
import { canonicalJson, hashKey } from '../platform/hashes.ts';

export type TemplateFact = Extract<NetworkFact, { kind: 'template' }>;

interface Scope {
  companyId: number;
  instanceId: string;
  lease: Lease;
}

/** Tells each change of a template once, however often the network posts it. Throws LeaseLost. */
export async function recordTemplateFacts(
  deps: RecorderDeps,
  scope: Scope,
  facts: readonly TemplateFact[],
): Promise<void> {
  await recordUnderLease(deps, scope.lease, async ({ client, now, tell }) => {
    const events = new Map(facts.map((fact) => [idOf(scope, fact), fact]));
    const known = await client.query<{ event_id: string }>(
      'SELECT event_id FROM events WHERE event_id = ANY ($1::uuid[])',
      [[...events.keys()]],
    );
    for (const { event_id } of known.rows) events.delete(event_id);
    await tell([...events].map(([eventId, fact]) => eventOf(scope, fact, eventId, now)));
  });
}

function idOf({ instanceId }: Scope, { templateId, change, at }: TemplateFact): string {
  return hashKey(instanceId, 'message_template', templateId, at.toISOString(), canonicalJson(change));
}

function eventOf(scope: Scope, fact: TemplateFact, eventId: string, now: Date): NewEvent {
  const { templateId: template_id, name, language, change, at } = fact;
  const about = { template_id, name, language, timestamp: at.toISOString() };
  switch (change.of) {
    case 'status': {
      const data = { ...about, status: change.status, reason: change.reason };
      return buildEvent(scope, { type: 'message_template.status_changed', data, now, eventId });
    }
    case 'quality': {
      const data = { ...about, quality: change.quality, previous_quality: change.previous };
      return buildEvent(scope, { type: 'message_template.quality_changed', data, now, eventId });
    }
    case 'category': {
      const data = { ...about, category: change.category, previous_category: change.previous };
      return buildEvent(scope, { type: 'message_template.category_changed', data, now, eventId });
    }
  }
}
