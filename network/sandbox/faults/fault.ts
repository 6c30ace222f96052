/** The faults a tester can order, and their effects (ERR-20, `POST /faults`). */
import { z } from 'zod/v4';
import { phoneNumber } from '../phone-number.ts';

/** The stages of a send at which a fault can be injected. */
const STAGES = ['before_ledger', 'after_ledger', 'after_ack'] as const;

const target = {
  /** Only this instance. */
  instance: z.string().min(1).optional(),
  /** Only the account paired with this number. */
  account: phoneNumber.optional(),
  /** This number on either side: as the sending account, or as the receiving phone. */
  phone: phoneNumber.optional(),
  /** The fault ends after this many injections. */
  times: z.int().min(1).optional(),
  /** The fault ends after this time. */
  duration_ms: z.int().min(1).optional(),
  probability: z.number().min(0).max(1).default(1),
};

export const faultOrder = z.discriminatedUnion('kind', [
  /**
   * Cuts the connection without notice: `now`, or on each `nth` send before the ledger has it (nothing
   * stored), after it (stored, not acknowledged) or after the ack was sent.
   */
  z.object({
    ...target,
    kind: z.literal('drop'),
    at: z.enum(['now', ...STAGES]).default('now'),
    nth: z.int().min(1).default(1),
  }),
  /** Delays the ack by this time. */
  z.object({ ...target, kind: z.literal('delay'), delay_ms: z.int().min(1) }),
  /** Delays the answer to a driver's call; events about its effect are sent immediately. */
  z.object({ ...target, kind: z.literal('delay_answers'), delay_ms: z.int().min(1) }),
  /** Never sends an ack, with or without the envelope in the ledger; the connection stays. */
  z.object({
    ...target,
    kind: z.literal('silence'),
    at: z.enum(STAGES).exclude(['after_ack']).default('after_ledger'),
  }),
  /** Permanently refuses sends with this reason. */
  z.object({
    ...target,
    kind: z.literal('refuse'),
    reason: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,63}$/)
      .default('refused_by_network'),
  }),
  /** Bans the account: its session ends and logins are refused. */
  z.object({ ...target, kind: z.literal('ban') }),
  /** Throttles the account: its session ends and logins are refused. */
  z.object({ ...target, kind: z.literal('hard_pause') }),
  /** Makes it unreachable: an instance's connections are cut, a phone receives nothing. */
  z.object({ ...target, kind: z.literal('offline') }),
  /** Unpairs the instance from the phone, once. */
  z.object({ ...target, kind: z.literal('logout') }),
  /** Sends receipts and inbound messages twice. */
  z.object({ ...target, kind: z.literal('repeat_events') }),
  /** Expires media: downloading and forwarding it fails. */
  z.object({ ...target, kind: z.literal('expire_media') }),
  /**
   * Breaks media downloads after they start: `hang` sends half and then nothing, `cut` closes the connection
   * there, `error` answers 500.
   */
  z.object({ ...target, kind: z.literal('break_media'), how: z.enum(['hang', 'cut', 'error']) }),
  /** Makes the account lose the secrets of all polls so far, as after a session reset; once. */
  z.object({ ...target, kind: z.literal('forget_poll_secret') }),
]);

export const FAULT_KINDS = faultOrder.options.map((option) => option.shape.kind.value);

export type FaultOrder = z.infer<typeof faultOrder>;
export type FaultKind = FaultOrder['kind'];

/** The effects of the faults in force on one send. */
export interface SendPlan {
  delayMs: number;
  refuse?: string;
  dropAt?: (typeof STAGES)[number];
  silentAt?: 'before_ledger' | 'after_ledger';
}
