import type { ApiError } from '@posthorn/contract/api-error.ts';
import type { Principal } from '../access/principal.ts';
import type { NewMessage } from '../content/new-message.ts';
import type { PreparedSend } from './prepare-send.ts';
import type { SendRequest } from './send-request.ts';

/** What the acceptor takes: a {@link SendRequest} and what was prepared for it. */
export interface SendCommand {
  principal: Principal;
  instanceId: string;
  /** The operation type: part of the idempotency key, e.g. `text`. */
  operation: string;
  idempotencyKey: string;
  force: boolean;
  /** What is compared when the key is used again. */
  body: unknown;
  traceId: string;
  message: NewMessage;
  /** What is wrong with the send. Answered unless the send turns out to be a replay of an earlier one. */
  refusal?: ApiError | undefined;
  /** The key space, when it is not the operation: a scheduled send has one of its own. */
  keyScope?: string | undefined;
  /** The message id that was promised; a new one when absent. */
  messageId?: string | undefined;
}

/** The message of a refused send: the acceptor reads its idempotency key and stores nothing. */
const NO_MESSAGE: NewMessage = { type: '', chatJid: '', content: {} };

/** Puts together what the acceptor takes. */
export function commandOf(
  request: SendRequest & { traceId: string; messageId?: string | undefined },
  prepared: PreparedSend,
): SendCommand {
  const { principal, instanceId, operation, idempotencyKey, force, traceId, keyScope, messageId } = request;
  return {
    principal,
    instanceId,
    operation,
    idempotencyKey,
    force,
    traceId,
    keyScope,
    messageId,
    body: prepared.body,
    message: prepared.message ?? NO_MESSAGE,
    refusal: prepared.refusal,
  };
}

export interface AcceptedSend {
  /** The current state: on a replay, the message may be past queued (SND-3). */
  status: 'queued' | 'sent' | 'failed';
  /** For delete and edit, the id of the message that they change. */
  messageId: string;
  taskId: string;
  replayed: boolean;
}
