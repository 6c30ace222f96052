import { type Message, PosthornError, type SendAccepted, TimeoutError } from '@posthorn/sdk/index.ts';
import { integer, oneOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { CommandError, EXIT } from '../../fault.ts';
import { fields, knownFields } from '../../format.ts';

const STATES = ['sent', 'delivered', 'read', 'played'] as const;
const DEFAULT_TIMEOUT_S = 60;
const QUEUED_LONG_MS = 1_000;

/** The flags with which every send waits for its message. */
export const waitFlags = {
  wait: oneOf('state', STATES, `return once it is ${STATES.join(', ')}, or further`),
  timeout: integer('seconds', `how long --wait waits, default ${DEFAULT_TIMEOUT_S}`, { max: 3600 }),
};

/**
 * Shows the accepted send, or with `wait` the message once it has reached that state. Throws MessageFailedError (exit
 * code 1) when the message fails, and CommandError with exit code 6 when the time is over: the message may still get
 * there.
 */
export async function showAccepted(
  context: Context,
  accepted: SendAccepted,
  options: {
    instanceId: string;
    wait: (typeof STATES)[number] | undefined;
    timeout: number | undefined;
  },
): Promise<void> {
  const { instanceId, wait, timeout: timeoutS = DEFAULT_TIMEOUT_S } = options;
  if (wait === undefined) return context.out.show(accepted, fields(accepted));
  const { message_id: messageId } = accepted;
  context.out.note(`accepted ${messageId}, waiting until it is ${wait}`);
  const acceptedAtMs = performance.now();
  let told = '';
  const onWait = (message: Message) => {
    const line = waitingFor(message, performance.now() - acceptedAtMs);
    if (line !== told && line !== '') context.out.note(line);
    told = line;
  };
  const patience = { timeoutMs: timeoutS * 1000, signal: context.signal, onWait };
  const message = await context
    .client()
    .messages.waitFor({ instanceId, messageId }, wait, patience)
    .catch((error: unknown) => {
      // The message was accepted even if the wait failed: somebody who repeats the command because of the error would
      // send it twice.
      if (error instanceof PosthornError) error.fields.message_id = messageId;
      else if (context.signal.aborted) throw interrupted(messageId);
      // Only a timeout of the wait has a status; a timeout of a request is thrown as it is.
      if (!(error instanceof TimeoutError) || !error.fields.status) throw error;
      const { status } = error.fields as Pick<Message, 'status'>;
      throw new CommandError(`the message is ${status}, not ${wait}, after ${timeoutS} s: ${messageId}`, {
        exitCode: EXIT.later,
        fields: { code: 'NOT_YET', status, message_id: messageId },
      });
    });
  context.out.show({ ...accepted, ...message }, knownFields(message));
}

/** The reason for the wait; empty for a message that has been queued only for a moment. */
function waitingFor({ status, typing_until }: Message, waitedMs: number): string {
  if (typing_until) return `typing until ${typing_until}`;
  if (status !== 'queued') return status;
  return waitedMs < QUEUED_LONG_MS ? '' : 'queued: its instance sends in the order of its accepts';
}

function interrupted(messageId: string): CommandError {
  return new CommandError(`interrupted; accepted ${messageId}`, {
    exitCode: EXIT.interrupted,
    fields: { code: 'INTERRUPTED', message_id: messageId },
  });
}
