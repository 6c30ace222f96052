import type { CallOptions } from './call-options.ts';
import type { Message, MessageStatus } from './contract-types.ts';
import { MessageFailedError, TimeoutError } from './error.ts';
import { sleep } from './wait.ts';

export interface WaitForOptions extends Pick<CallOptions, 'signal'> {
  /** How long the message may take. Default 60 s. */
  timeoutMs?: number | undefined;
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

/**
 * The message once it has come as far as `state`, or further. Throws MessageFailedError when it fails,
 * TimeoutError when it takes longer than `timeoutMs`, and whatever reading it throws.
 */
export async function waitForMessage(
  get: (input: WaitForInput, options: CallOptions) => Promise<Message>,
  input: WaitForInput,
  state: Exclude<MessageStatus, 'failed' | 'received'>,
  options: WaitForOptions = {},
): Promise<Message> {
  const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const wanted = ORDER.indexOf(state);
  if (wanted < 0) throw new TypeError(`a message is never ${state}: ${ORDER.join(', ')}`);
  const endsAtMs = performance.now() + timeoutMs;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 1.5)) {
    const leftMs = Math.max(1, endsAtMs - performance.now());
    const message = await get(input, { signal, deadlineMs: leftMs });
    if (message.status === 'failed') throw failed(message);
    if (ORDER.indexOf(message.status) >= wanted) return message;
    if (performance.now() + waitMs >= endsAtMs) throw late(message, state, timeoutMs);
    await sleep(waitMs, signal);
  }
}

function failed({ message_id, failed_reason }: Message): MessageFailedError {
  return new MessageFailedError({
    code: 'MESSAGE_FAILED',
    status: 0,
    message: `the message failed: ${failed_reason ?? 'for an unknown reason'}`,
    fields: { message_id, failed_reason },
  });
}

function late({ message_id, status }: Message, state: string, timeoutMs: number): TimeoutError {
  return new TimeoutError({
    code: 'TIMEOUT',
    status: 0,
    message: `the message is ${status}, not ${state}, after ${timeoutMs} ms`,
    fields: { message_id, status },
  });
}
