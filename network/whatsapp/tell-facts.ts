/** Tells the owner facts, in one line with what else arrives. */
import type { NetworkFact } from '@posthorn/core/network/driver.ts';
import { ITEM_BYTES } from './intake.ts';
import type { WhatsAppContext } from './session-context.ts';

type MakeFacts = (session: WhatsAppContext) => Promise<NetworkFact[]>;

/** Best effort: a fact lost with a connection is replaced by the next state of the same thing. `onLost` is for those that are not. */
export function tell(session: WhatsAppContext, make: MakeFacts, onLost?: () => void): void {
  const release = session.intake.hold(ITEM_BYTES);
  session.arrivals
    .run(async () => {
      const facts = await makeOrSkip(session, make);
      if (facts.length > 0) await session.sink.facts(facts);
    })
    .catch(() => onLost?.())
    .finally(release);
}

/**
 * Skips an invalid fact, such as a call without a caller: it would fail again, and must not block later
 * facts.
 */
async function makeOrSkip(session: WhatsAppContext, make: MakeFacts): Promise<NetworkFact[]> {
  try {
    return await make(session);
  } catch (err) {
    if (!(err instanceof TypeError || err instanceof RangeError)) throw err;
    session.deps.log.warn({ err, instance_id: session.request.instanceId }, 'skipped an unreadable fact');
    return [];
  }
}
