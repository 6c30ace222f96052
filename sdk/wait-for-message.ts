import type { CallOptions } from './call-options.ts';
import type { Message, MessageStatus } from './contract-types.ts';
import { MessageFailedError, TimeoutError } from './error.ts';
import { type FollowedMessage, followMessage } from './follow-message.ts';
import type { Transport } from './transport.ts';

export interface WaitForOptions extends Pick<CallOptions, 'signal'> {
  /** How long the message may take. Default 60 s. */
  timeoutMs?: number | undefined;
  /**
   * Called with the message after each read that finds it short of `state`; it shows the progress and the reason for
   * the wait.
   */
  onWait?: ((message: Message) => void) | undefined;
}

export interface WaitForInput {
  instanceId: string;
  messageId: string;
}

/** States in the order in which a message passes them; a voice note is played rather than read. */
const ORDER: readonly MessageStatus[] = ['queued', 'sent', 'delivered', 'read', 'played'];
const DEFAULT_TIMEOUT_MS = 60_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 3_000;
/** Pause between two reads while the stream is open: no event reports that a message is being typed. */
const LIVE_WAIT_MS = 5_000;

/**
 * Waits until the message has reached `state` or a later one, and returns it. It follows the event stream; without a
 * stream, it reads the message repeatedly. Throws MessageFailedError when the message fails, TimeoutError after
 * `timeoutMs`, and the errors of reading the message.
 */
export async function waitForMessage(
  deps: { get: (input: WaitForInput, options: CallOptions) => Promise<Message>; transport: Transport },
  input: WaitForInput,
  state: Exclude<MessageStatus, 'failed' | 'received'>,
  options: WaitForOptions = {},
): Promise<Message> {
  const { signal, timeoutMs = DEFAULT_TIMEOUT_MS, onWait } = options;
  const wanted = ORDER.indexOf(state);
  if (wanted < 0) throw new TypeError(`a message is never ${state}: ${ORDER.join(', ')}`);
  const endsAtMs = performance.now() + timeoutMs;
  const leftMs = () => endsAtMs - performance.now();
  let followed: FollowedMessage | null = null;
  let last: Message | null = null;
  try {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 1.5)) {
      const message = await deps.get(input, { signal, deadlineMs: Math.max(1, leftMs()) });
      last = message;
      if (message.status === 'failed') throw failed(message);
      if (ORDER.indexOf(message.status) >= wanted) return message;
      onWait?.(message);
      followed ??= followMessage(deps, {
        instanceId: input.instanceId,
        messageId: message.message_id,
        types: typesFrom(wanted),
        signal,
      });
      await followed.change(Math.min(followed.isLive() ? LIVE_WAIT_MS : waitMs, Math.max(0, leftMs())));
      if (leftMs() <= 0) throw late(message, state, timeoutMs);
    }
  } catch (error) {
    // The last read ended because the message's time was over, not because the service was silent.
    if (last && error instanceof TimeoutError && leftMs() <= 0) throw late(last, state, timeoutMs);
    throw error;
  } finally {
    followed?.stop();
  }
}

/** The events that end the wait, so that no other one costs a read. */
function typesFrom(wanted: number) {
  const states = ORDER.slice(Math.max(1, wanted)) as ('sent' | 'delivered' | 'read' | 'played')[];
  return [...states.map((each) => `message.${each}` as const), '*.delivery_failed' as const];
}

function failed({ message_id, failed_reason }: Message): MessageFailedError {
  return new MessageFailedError({
    code: 'MESSAGE_FAILED',
    status: 0,
    message: `the message failed: ${failed_reason ?? 'for an unknown reason'}`,
    fields: { message_id, failed_reason },
  });
}

function late({ message_id, status, typing_until }: Message, state: string, timeoutMs: number): TimeoutError {
  const typing = typing_until ? `, since it is being typed until ${typing_until}` : '';
  return new TimeoutError({
    code: 'TIMEOUT',
    status: 0,
    message: `the message is ${status}, not ${state}, after ${timeoutMs} ms${typing}`,
    fields: { message_id, status, typing_until },
  });
}
