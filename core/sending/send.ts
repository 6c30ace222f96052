import type { Acceptor } from './accept-send.ts';
import { type PrepareDeps, type PreparedSend, prepareSend } from './prepare-send.ts';
import { type AcceptedSend, commandOf } from './send-command.ts';
import type { SendRequest } from './send-request.ts';

export interface SendDeps extends PrepareDeps {
  acceptor: Acceptor;
}

/**
 * Sends, forwards, deletes and edits: prepares the request and accepts it durably (SND-1). Throws ApiError: what the
 * rule of the operation, its media source and the acceptor throw.
 */
export function send(deps: SendDeps, request: SendRequest & { traceId: string }): Promise<AcceptedSend> {
  const accept = (prepared: PreparedSend) => deps.acceptor.acceptSend(commandOf(request, prepared));
  const prepared = prepareSend(deps, request);
  // A request that needed no look-up does not leave this turn of the event loop.
  return prepared instanceof Promise ? prepared.then(accept) : accept(prepared);
}
