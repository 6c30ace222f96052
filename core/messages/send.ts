import type { Acceptor } from './accept-send.ts';
import { type PrepareDeps, type PreparedSend, prepareSend } from './prepare-send.ts';
import type { AcceptedSend } from './send-command.ts';
import type { SendInput } from './send-input.ts';

export interface SendDeps extends PrepareDeps {
  acceptor: Acceptor;
}

/**
 * Sends, forwards, deletes and edits: prepares what was asked for and accepts it durably (SND-1). Throws
 * ApiError: what the rule of the operation, its media source and the acceptor say.
 */
export function send(deps: SendDeps, input: SendInput & { traceId: string }): Promise<AcceptedSend> {
  const prepared = prepareSend(deps, input);
  // No turn of the event loop for what needed no look-up.
  if (prepared instanceof Promise) return prepared.then((ready) => accept(deps, input, ready));
  return accept(deps, input, prepared);
}

function accept(
  deps: SendDeps,
  input: SendInput & { traceId: string },
  { message, refusal, body }: PreparedSend,
): Promise<AcceptedSend> {
  const { principal, instanceId, operation, idempotencyKey, force, traceId } = input;
  return deps.acceptor.acceptSend({
    principal,
    instanceId,
    operation,
    idempotencyKey,
    force,
    body,
    traceId,
    message,
    refusal,
  });
}
