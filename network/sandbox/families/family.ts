/**
 * A content family: what one `type` of message may contain and what it does. The transport, the ledger,
 * delivery and receipts know nothing of it; a new family is a file here and a line in registry.ts.
 */
import { z } from 'zod/v4';
import type { EventBody } from '../frames.ts';
import type { Account, Message, Phone } from '../state/model.ts';
import type { World } from '../state/world.ts';

/** A message that is about to enter the network. */
export interface Entering {
  from: Phone;
  to: string;
  type: string;
  content: Record<string, unknown>;
  forwarded: number;
}

export interface ContentFamily {
  /** The `type` of envelope and message. */
  readonly type: string;
  /** What an instance may send; anything else is refused as `invalid_content`. */
  readonly content: z.ZodType<Record<string, unknown>>;
  /** The body of `POST /phones/{phone}/messages` without `to` and `type`, made into the content. */
  readonly phoneBody: z.ZodType<Record<string, unknown>>;
  /** The words a person sees: text or caption; empty when there are none. */
  words(content: Record<string, unknown>): string;
  /** How a person takes note of it: `read` unless it is played. */
  opened?(content: Record<string, unknown>): 'read' | 'played';
  /** Why the network does not take it, or what enters in its place (a forward becomes a copy). */
  admit?(world: World, entering: Entering): string | Entering;
  /**
   * Set for what changes another message instead of being shown itself. Done when it enters, and again when
   * the journal is read: it must come to the same.
   */
  act?(world: World, message: Message): void;
  /** What an instance hears of it, when that is not a message; null when it hears nothing. */
  tell?(world: World, message: Message, to: Account): EventBody | null;
}

/** How a reaction, edit, delete, vote or pin names its message. */
export const target = z.object({
  id: z.string().min(1).max(128),
  from_me: z.boolean().optional(),
  sender: z.string().optional(),
});

export const mentions = z.array(z.string()).optional();

export const noWords = () => '';
