import type { ApiError } from '@posthorn/contract/api-error.ts';
import type { Principal } from '../access/principal.ts';
import type { NewMessage } from '../content/new-message.ts';

/** One send as the API got it, its body validated. */
export interface SendCommand {
  principal: Principal;
  instanceId: string;
  /** The operation type: part of the idempotency key, e.g. `text`. */
  operation: string;
  idempotencyKey: string;
  /** `X-Force-Send: true`: past passive mode and the guard, with a row in the audit log. */
  force: boolean;
  /** The request body, for "the same key with a different body". */
  body: unknown;
  traceId: string;
  message: NewMessage;
  /** What is wrong with it, found before: said once it is known to be no replay of a send that was fine. */
  refusal?: ApiError | undefined;
  /** Where the key counts, when that is not the operation: a scheduled send has a key space of its own. */
  keyScope?: string | undefined;
  /** The id that was promised for the message; drawn when absent. */
  messageId?: string | undefined;
}

export interface AcceptedSend {
  /** The current state: a replay may find it further than queued (SND-3). */
  status: 'queued' | 'sent' | 'failed';
  /** For delete and edit: of the message that they change. */
  messageId: string;
  taskId: string;
  replayed: boolean;
}
