import type { Jid } from '@posthorn/contract/jid.ts';
import type { Operation } from '@posthorn/contract/message-types.ts';
import type { Principal } from '../access/principal.ts';
import type { DatabaseWait } from '../platform/database/in-time.ts';
import type { PreparedSend } from './prepare-send.ts';
import type { SendRequest } from './send-request.ts';

/** The input of the acceptor: a {@link SendRequest} and the data prepared for it. */
export type SendCommand = {
  principal: Principal;
  instanceId: string;
  /** The operation type: part of the idempotency key, e.g. `text`. */
  operation: Operation;
  idempotencyKey: string;
  force: boolean;
  traceId: string;
  /** The key space, when it is not the operation: a scheduled send has one of its own. */
  keyScope?: string | undefined;
  /** The message id that was promised; a new one when absent. */
  messageId?: string | undefined;
  /** Other addresses of the chat, under which something may have been sent to it. */
  otherAddresses?: readonly Jid[] | undefined;
  /** How long the request may wait for the database; a time of its own when absent. */
  wait?: DatabaseWait | undefined;
} & PreparedSend;

/** Puts together what the acceptor takes. */
export function commandOf(
  request: SendRequest & { traceId: string; messageId?: string | undefined },
  prepared: PreparedSend,
): SendCommand {
  const { principal, instanceId, operation, idempotencyKey, force, traceId, keyScope, messageId, wait } =
    request;
  return {
    principal,
    instanceId,
    operation,
    idempotencyKey,
    force,
    traceId,
    keyScope,
    messageId,
    wait,
    ...prepared,
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
