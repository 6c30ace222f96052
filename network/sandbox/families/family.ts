/**
 * A content family: what one `type` of message may contain. The transport, the ledger, delivery and
 * receipts know nothing of it; a new family is a file here and a line in registry.ts.
 */
import type { z } from 'zod/v4';

export interface ContentFamily {
  /** The `type` of envelope and message. */
  readonly type: string;
  /** What an instance may send; anything else is refused as `invalid_content`. */
  readonly content: z.ZodType<Record<string, unknown>>;
  /** The body of `POST /phones/{phone}/messages` without `to` and `type`, made into the content. */
  readonly phoneBody: z.ZodType<Record<string, unknown>>;
  /** The words a person sees: text or caption; empty when there are none. */
  words(content: Record<string, unknown>): string;
}
