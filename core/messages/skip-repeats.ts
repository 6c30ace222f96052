import type { Recorded } from '../instances/lock-leases.ts';
import type { Coalescer } from '../platform/database/coalesce.ts';
import { type MessageStatus, type Step, stepsBetween } from './progress.ts';

/** Messages remembered, some 2 MB: devices and members tell of a message within minutes. */
const ENTRIES_MAX = 8_192;

/** The status that a message has reached, as it was committed. */
export interface Reached {
  id: string;
  instance_id: string;
  status: MessageStatus;
  network_id: string | null;
}

interface Told {
  messageId: string | null;
  named?: { instanceId: string };
  to: Step | 'accepted';
  assignedId?: string | undefined;
}

/**
 * Keeps from `recorder` the progress that is known to change nothing: each device of a contact and each member of a group tells
 * that a message was delivered, and its owner tells that it was sent when a receipt has proven it. A state is known once this
 * process has committed it; while it is being committed, its repeats wait. A state is left only for a higher one, or for a
 * failure that no such step takes back, so a known state may be old but is never wrong.
 *
 * `reachedBy`: the state of a message after a progress of it was recorded.
 */
export function skippingRepeats<In extends Told>(
  recorder: Coalescer<In, Recorded>,
  reachedBy: (progress: In) => Reached | undefined,
): Coalescer<In, Recorded> {
  const reached = new Map<string, Reached>();
  /** The highest step that is being recorded, by message. */
  const underWay = new Map<string, { to: MessageStatus; ended: Promise<unknown> }>();

  function isKnown({ messageId: id, named, to, assignedId }: In): boolean {
    const known = id === null ? undefined : reached.get(id);
    if (!known || !isProof(to)) return false;
    if (named && named.instanceId !== known.instance_id) return false;
    if (assignedId !== undefined && known.network_id === null) return false;
    return stepsBetween(known.status, to).length === 0;
  }

  function remember(state: Reached | undefined): void {
    if (!state) return;
    reached.delete(state.id);
    if (state.status === 'queued' || state.status === 'failed') return;
    reached.set(state.id, state);
    if (reached.size > ENTRIES_MAX) reached.delete(reached.keys().next().value!);
  }

  /** The end of a record that proves as much. */
  function proofUnderWay({ messageId: id, to }: In): Promise<unknown> | undefined {
    const other = id === null ? undefined : underWay.get(id);
    return other && isProof(to) && stepsBetween(other.to, to).length === 0 ? other.ended : undefined;
  }

  function record(progress: In, untilMs: number | undefined): Promise<Recorded> {
    const { messageId: id, to } = progress;
    const recorded = recorder.push(progress, untilMs).then((outcome) => {
      remember(reachedBy(progress));
      return outcome;
    });
    if (id !== null && isProof(to)) {
      const ended = recorded
        .catch(() => undefined)
        .then(() => {
          if (underWay.get(id)?.ended === ended) underWay.delete(id);
        });
      underWay.set(id, { to, ended });
    }
    return recorded;
  }

  return {
    ...recorder,
    async push(progress, untilMs) {
      if (isKnown(progress)) return 'recorded';
      const ended = proofUnderWay(progress);
      if (!ended) return record(progress, untilMs);
      await ended;
      return isKnown(progress) ? 'recorded' : record(progress, untilMs);
    },
  };
}

function isProof(to: Step | 'accepted'): to is Exclude<Step, 'failed'> {
  return to !== 'accepted' && to !== 'failed';
}
