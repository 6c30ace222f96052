/** The faults that a tester can order, and what each does (ERR-20, `POST /faults`). */
import { z } from 'zod/v4';
import { phoneNumber } from '../phone-number.ts';

/** Where in the pipeline of a send a fault is injected. */
const STAGES = ['before_ledger', 'after_ledger', 'after_ack'] as const;

const target = {
  /** Strikes just this instance. */
  instance: z.string().min(1).optional(),
  /** Strikes just the account paired with this number. */
  account: phoneNumber.optional(),
  /** Strikes this number on either side: the account that sends, or the phone that is sent to. */
  phone: phoneNumber.optional(),
  /** The fault is over after it was injected so often. */
  times: z.int().min(1).optional(),
  /** The fault is over after so long. */
  duration_ms: z.int().min(1).optional(),
  probability: z.number().min(0).max(1).default(1),
};

export const faultOrder = z.discriminatedUnion('kind', [
  /**
   * Cuts the connection without a word: `now`, or on each `nth` send before the ledger has it
   * (nothing kept), after it (kept, not acknowledged) or after the ack went out.
   */
  z.object({
    ...target,
    kind: z.literal('drop'),
    at: z.enum(['now', ...STAGES]).default('now'),
    nth: z.int().min(1).default(1),
  }),
  /** The ack comes so much later. */
  z.object({ ...target, kind: z.literal('delay'), delay_ms: z.int().min(1) }),
  /** The answer to a driver's question comes so much later; what it changed is told at once. */
  z.object({ ...target, kind: z.literal('delay_answers'), delay_ms: z.int().min(1) }),
  /** No ack ever comes, with or without the envelope in the ledger; the connection stays. */
  z.object({
    ...target,
    kind: z.literal('silence'),
    at: z.enum(STAGES).exclude(['after_ack']).default('after_ledger'),
  }),
  /** Sends are refused for good with this reason. */
  z.object({
    ...target,
    kind: z.literal('refuse'),
    reason: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,63}$/)
      .default('refused_by_network'),
  }),
  /** The account is banned: its session ends and logins are refused. */
  z.object({ ...target, kind: z.literal('ban') }),
  /** The account is throttled: its session ends and logins are refused. */
  z.object({ ...target, kind: z.literal('hard_pause') }),
  /** Unreachable: an instance's connections are cut, a phone gets nothing. */
  z.object({ ...target, kind: z.literal('offline') }),
  /** Unpaired from the phone, once. */
  z.object({ ...target, kind: z.literal('logout') }),
  /** Receipts and inbound messages go out twice. */
  z.object({ ...target, kind: z.literal('repeat_events') }),
  /** Media is gone from the network: downloads and forwards of it fail. */
  z.object({ ...target, kind: z.literal('expire_media') }),
  /**
   * Downloads of media that begin and go wrong: `hang` gives half of it and then nothing, `cut` ends there
   * without a word, `error` is answered by 500.
   */
  z.object({ ...target, kind: z.literal('break_media'), how: z.enum(['hang', 'cut', 'error']) }),
  /** The account loses the secrets of the polls so far, as after a session reset; once. */
  z.object({ ...target, kind: z.literal('forget_poll_secret') }),
]);

export const FAULT_KINDS = faultOrder.options.map((option) => option.shape.kind.value);

export type FaultOrder = z.infer<typeof faultOrder>;
export type FaultKind = FaultOrder['kind'];

/** What the faults in force make of one send; empty when they leave it alone. */
export interface SendPlan {
  delayMs: number;
  refuse?: string;
  dropAt?: (typeof STAGES)[number];
  silentAt?: 'before_ledger' | 'after_ledger';
}
