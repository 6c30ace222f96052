import type { Operation } from '@posthorn/contract/message-types.ts';
import type { Principal } from '../access/principal.ts';
import type { UploadedFile } from '../media/media-port.ts';
import type { DatabaseWait } from '../platform/database/in-time.ts';

/** A send as it was asked for, by the API or by a schedule. Its body has passed the contract. */
export interface SendRequest {
  principal: Principal;
  instanceId: string;
  operation: Operation;
  /** The caller's name for this send: the same key is the same send. */
  idempotencyKey: string;
  /** `X-Force-Send: true`: bypasses passive mode and the guard, and is written to the audit log. */
  force: boolean;
  /** The body, with the ids that the path names (`message_id`, `status_id`). */
  body: Record<string, unknown>;
  /** The file of a multipart form or the bytes of `media_base64`, in place of the JSON sources. */
  file?: UploadedFile | undefined;
  signal?: AbortSignal | undefined;
  /** How long it may wait for the database. Absent where nobody waits for its answer. */
  wait?: DatabaseWait | undefined;
  /** The key space of a scheduled send, which is not its operation's; its instance need not be connected yet. */
  keyScope?: string | undefined;
}
