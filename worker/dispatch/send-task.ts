import { charsOf } from '@posthorn/contract/fields.ts';
import { isUserIdJid, isUserJid, type Jid } from '@posthorn/contract/jid.ts';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { MediaUnusable } from '@posthorn/core/media/media-port.ts';
import { OUTCOME_UNKNOWN } from '@posthorn/core/messages/progress.ts';
import type { Progress } from '@posthorn/core/messages/record-progress.ts';
import {
  type BackOff,
  type NetworkSession,
  NotConnected,
  SendDeferred,
  SendNotAsked,
  SendRefused,
  SendUnanswered,
  SendUnavailable,
} from '@posthorn/core/network/driver.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Attempts } from '@posthorn/core/sending/begin-attempt.ts';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { MediaPreparer } from '../media/worker-media.ts';
import { isChange, mediaOf, outboundOf } from './outbound.ts';
import type { Pacer } from './pacing.ts';

export interface SendTaskDeps {
  clock: Clock;
  media: MediaPreparer;
  /** Notes of what begins, for networks that don't drop duplicates. */
  attempts: Attempts;
  /** Notes how long a task is being typed. */
  noteTyping(typing: { taskId: string; lease: Lease; forMs: number }): Promise<void>;
  /** Whether nobody has the message that a delete or edit is about, by now. */
  isGone(change: Pick<PendingTask, 'messageId' | 'operation'>): Promise<boolean>;
  /** The address that this one, a user id, names today: it may have changed while the task waited. */
  addressOf(instanceId: string, jid: Jid): Promise<Jid>;
  /** A number in [0, 1), for the humanize delay. */
  random(): number;
}

export interface SendTaskScope {
  instanceId: string;
  lease: Lease;
  /** Whether the network drops a second message with the same id. */
  dedupes: boolean;
  /** `told`: the outcome of a send comes after its answer, and without one. */
  outcome?: 'told' | undefined;
  pacer: Pacer;
  /** Maximum typing time for a text; 0: no typing. */
  typingMaxMs: number;
  signal: AbortSignal;
  /** Aborted when tasks that are being typed are to be left for later. */
  interrupted: AbortSignal;
  /** Aborted when the task is cancelled during its preparation. */
  cancelled: AbortSignal | undefined;
  /** Whether an earlier try has typed the task to its end. */
  wasTyped(): boolean;
  /** Called when the task is typed. */
  typed(): void;
  /** Called right before the network gets the task; false if it was cancelled meanwhile. */
  begin(): boolean;
  /** Called when the network may have taken the task and did not answer. */
  doubt(): void;
}

/**
 * How a task ended. `accepted`: the network has it and tells later what became of it. `deferred`: the network may take it
 * later. `unanswered`: it may have taken it, and will tell if it has. `cancelled`: the network never saw it.
 */
export type TaskOutcome =
  | (Pick<Progress, 'at' | 'reason' | 'wireState' | 'assignedId'> & { to: 'sent' | 'accepted' | 'failed' })
  | { to: 'deferred'; reason: string; backOff?: BackOff | undefined }
  | { to: 'unanswered' }
  | { to: 'cancelled' };

/** Sends one task. Throws if the outcome is unknown and the send may be repeated. */
export async function sendTask(
  deps: SendTaskDeps,
  scope: SendTaskScope,
  session: NetworkSession,
  task: PendingTask,
): Promise<TaskOutcome> {
  const failed = (reason: string, wireState: 'not_sent' | 'unknown' = 'not_sent'): TaskOutcome => ({
    to: 'failed',
    at: deps.clock.now(),
    reason,
    wireState,
  });
  const note = { taskId: task.taskId, lease: scope.lease };
  if (deps.attempts.hasBegunInVain(note)) await deps.attempts.end(note);
  else if (!scope.dedupes && task.attempts > 0) {
    const isAwaited = scope.outcome === 'told' && task.awaitedSinceMs === undefined;
    return isAwaited ? { to: 'unanswered' } : failed(OUTCOME_UNKNOWN, 'unknown');
  }
  let hasBegun = false;
  try {
    // Some networks take a change of a message that they never got.
    if (isChange(task) && (await deps.isGone(task))) return failed('message_not_found');
    const needed = mediaOf(task);
    const media =
      needed &&
      (await deps.media.prepare(
        { companyId: task.companyId, instanceId: scope.instanceId },
        needed,
        scope.signal,
      ));
    if (isTyped(task, scope) && !scope.wasTyped()) await type(deps, scope, session, task);
    if (scope.pacer.isOn) await scope.pacer.turn(scope.signal);
    const { chatJid } = task;
    const to = isUserIdJid(chatJid) ? await deps.addressOf(scope.instanceId, chatJid) : chatJid;
    if (!scope.begin()) return { to: 'cancelled' };
    if (!scope.dedupes) await deps.attempts.begin(note);
    hasBegun = true;
    const message = { ...outboundOf(task, media ?? undefined), to };
    const receipt = await session.send(message).finally(scope.pacer.sent);
    const { at, assignedId } = receipt;
    return { to: scope.outcome === 'told' ? 'accepted' : 'sent', at, assignedId };
  } catch (caught) {
    const err = caught instanceof SendNotAsked ? caught.cause : caught;
    // The network did not take it: a worker that finds the task after a crash may send it.
    const isNotTaken = caught instanceof SendNotAsked || caught instanceof SendDeferred;
    if (isNotTaken && hasBegun && !scope.dedupes) await deps.attempts.end(note);
    if (err instanceof SendRefused || err instanceof MediaUnusable) return failed(err.reason);
    if (err instanceof SendUnanswered) return failed(OUTCOME_UNKNOWN, 'unknown');
    if (err instanceof SendDeferred) return { to: 'deferred', reason: err.reason, backOff: err.backOff };
    if (err instanceof SendUnavailable && hasBegun && !isNotTaken) {
      if (scope.outcome === 'told') return { to: 'unanswered' };
      if (!(err instanceof NotConnected)) scope.doubt();
    }
    throw err;
  }
}

/**
 * Whether the task can go to the network without preparation or waiting: then {@link sendTask} hands it over
 * before it returns, so sends keep the order of the calls.
 */
export function isReady(
  task: PendingTask,
  scope: Pick<SendTaskScope, 'dedupes' | 'pacer' | 'typingMaxMs'>,
): boolean {
  if (!scope.dedupes || scope.pacer.isOn) return false;
  return !isChange(task) && mediaOf(task) === null && !isTyped(task, scope);
}

/** Characters times 0.1 to 0.5 seconds, at most the installation's limit (SND-38); `random` in [0, 1). */
export function typingMs(text: string, random: number, maxMs: number): number {
  return Math.min(maxMs, charsOf(text) * (0.1 + 0.4 * random) * 1_000);
}

/**
 * Shows typing and waits for its duration; cancelling the task ends the wait and frees the tasks behind it.
 */
async function type(
  deps: SendTaskDeps,
  scope: SendTaskScope,
  session: NetworkSession,
  task: PendingTask,
): Promise<void> {
  await session.typing(task.chatJid).catch(() => undefined);
  const { cancelled, lease } = scope;
  const left = AbortSignal.any([scope.signal, scope.interrupted]);
  const ends = cancelled ? AbortSignal.any([left, cancelled]) : left;
  const forMs = typingMs(String(task.content.text ?? ''), deps.random(), scope.typingMaxMs);
  // Informational only: no send waits for this note or fails because of it.
  deps.noteTyping({ taskId: task.taskId, lease, forMs }).catch(() => undefined);
  await deps.clock.sleep(forMs, ends).catch((err) => {
    if (left.aborted || !cancelled?.aborted) throw err;
  });
  scope.typed();
}

/** One-to-one texts, also with link previews; nobody types a forward or an edit. */
function isTyped(
  { operation, type, chatJid, settings }: PendingTask,
  { typingMaxMs }: Pick<SendTaskScope, 'typingMaxMs'>,
): boolean {
  return (
    typingMaxMs > 0 &&
    type === 'text' &&
    (operation === 'text' || operation === 'link_preview') &&
    isUserJid(chatJid) &&
    settings.humanize_enabled
  );
}
