import type { Operation } from '@posthorn/contract/message-types.ts';
import type { Principal } from '../access/principal.ts';
import type { UploadedFile } from '../media/media-port.ts';

/** One send as the API got it: its body has passed the contract. */
export interface SendInput {
  principal: Principal;
  instanceId: string;
  operation: Operation;
  idempotencyKey: string;
  force: boolean;
  /** The body, with what the path names (`message_id`, `status_id`). */
  body: Record<string, unknown>;
  /** The file of a multipart form or the bytes of `media_base64`, in place of the JSON sources. */
  file?: UploadedFile | undefined;
  signal?: AbortSignal | undefined;
  /** For a send that waits for its time: where its key counts; its instance need not be connected yet. */
  keyScope?: string | undefined;
}
