/**
 * A content family: the allowed content of one message `type` and its effect. The transport, the ledger,
 * delivery and receipts do not depend on it; a new family is a file here and a line in registry.ts, and one in
 * client/envelope.ts when instances send it.
 */
import { z } from 'zod/v4';
import type { EventBody } from '../frames.ts';
import type { Account, Message, Phone } from '../state/model.ts';
import type { World } from '../state/world.ts';

/** A message about to enter the network. */
export interface Entering {
  from: Phone;
  to: string;
  type: string;
  content: Record<string, unknown>;
  forwarded: number;
}

export interface ContentFamily {
  /** The content an instance may send; anything else is refused as `invalid_content`. */
  readonly content: z.ZodType<Record<string, unknown>>;
  /** The body of `POST /phones/{phone}/messages` without `to` and `type`, transformed to the content. */
  readonly phoneBody: z.ZodType<Record<string, unknown>>;
  /** The text a person sees: text or caption; empty if there is none. */
  words(content: Record<string, unknown>): string;
  /** Whether opening it counts as `played`; default: `read`. */
  opened?(content: Record<string, unknown>): 'read' | 'played';
  /** The reason for refusing it, or the message that enters in its place (a forward becomes a copy). */
  admit?(world: World, entering: Entering): string | Entering;
  /**
   * Set for families that change another message instead of being shown. Runs when the message enters and
   * again when the journal is read, so it must be deterministic.
   */
  act?(world: World, message: Message): void;
  /** The event an instance gets if that is not a message; null for none. */
  tell?(world: World, message: Message, to: Account): EventBody | null;
}

/** How a reaction, edit, delete, vote or pin identifies its message. */
export const target = z.object({
  id: z.string().min(1).max(128),
  from_me: z.boolean().optional(),
  sender: z.string().optional(),
});

export const mentions = z.array(z.string()).optional();

export const noWords = () => '';
