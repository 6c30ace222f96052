/**
 * The WebSocket protocol of driver and sandbox: JSON text frames, distinguished by `t`. On the hot path there
 * is one frame kind per direction, `flow`, with everything gathered in a tick. Its `type` and `content` are
 * opaque to the transport: a new content family adds nothing here, a new request and answer (groups, profile,
 * ...) is a new `op` of `call`.
 */
import { z } from 'zod/v4';
import { factBody, historyBody, presenceBody } from './fact-frames.ts';

/** Why the network ends a session; the driver maps it to a `DisconnectReason`. */
const BYE_REASONS = [
  'replaced',
  'stale_epoch',
  'logged_out',
  'banned',
  'hard_paused',
  'protocol_error',
  'shutting_down',
] as const;
export type ByeReason = (typeof BYE_REASONS)[number];

const content = z.record(z.string(), z.unknown());

/** One envelope: `n` numbers it within the connection, `id` detects duplicates within the account. */
export const sendItem = z.object({
  n: z.int(),
  /** The previous unanswered send: the network must not take this one without that one. */
  after: z.int().optional(),
  id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  to: z.string().max(64),
  type: z.string().max(32),
  content,
  quoted: z.string().max(64).optional(),
});
export type SendItem = z.infer<typeof sendItem>;

/** Driver to network. `flow.ack` is cumulative: every event up to that number is recorded. */
export const clientFrame = z.discriminatedUnion('t', [
  z.object({ t: z.literal('flow'), sends: z.array(sendItem).optional(), ack: z.int().optional() }),
  z.object({
    t: z.literal('hello'),
    instance: z.string().min(1).max(64),
    epoch: z.int(),
    token: z.string().optional(),
  }),
  z.object({ t: z.literal('paired_ok') }),
  z.object({ t: z.literal('typing'), chat: z.string().max(64) }),
  z.object({ t: z.literal('call'), n: z.int(), op: z.string(), args: content }),
]);
export type ClientFrame = z.infer<typeof clientFrame>;

/** Events the network stores for an account until acked; `s` increases by one within the account. */
const receiptEvent = z.object({
  s: z.int(),
  k: z.enum(['delivered', 'read', 'played']),
  id: z.string(),
  chat: z.string(),
  by: z.string(),
  at: z.number(),
});
const messageEvent = z.object({
  s: z.int(),
  k: z.literal('message'),
  id: z.string(),
  chat: z.string(),
  from: z.string(),
  name: z.string(),
  /** Sent by the account on its phone. */
  from_me: z.literal(true).optional(),
  type: z.string(),
  content,
  quoted: z.string().optional(),
  /** How often it was forwarded; absent without the forwarded mark. */
  fwd: z.int().optional(),
  /** The status that a direct message answers or reacts to. */
  status: z.string().optional(),
  at: z.number(),
});
/** `env` is the envelope that made the change, `id` the changed message. */
const changeEvent = z.object({
  s: z.int(),
  k: z.enum(['edited', 'deleted']),
  id: z.string(),
  env: z.string(),
  chat: z.string(),
  from: z.string(),
  from_me: z.literal(true).optional(),
  content: content.optional(),
  at: z.number(),
});
/** The account's own state, synced back from its other devices. */
const starEvent = z.object({
  s: z.int(),
  k: z.literal('starred'),
  id: z.string(),
  chat: z.string(),
  from: z.string(),
  starred: z.boolean(),
  at: z.number(),
});
/** Other news from the account's devices and the network; `fact` says which kind. */
const factEvent = z.object({ s: z.int(), k: z.literal('fact'), fact: factBody, at: z.number() });
const historyEvent = z.object({ s: z.int(), k: z.literal('history'), batch: historyBody, at: z.number() });
export const networkEvent = z.discriminatedUnion('k', [
  receiptEvent,
  messageEvent,
  changeEvent,
  starEvent,
  factEvent,
  historyEvent,
]);
export type NetworkEvent = z.infer<typeof networkEvent>;
export type EventBody = NetworkEvent extends infer E
  ? E extends NetworkEvent
    ? Omit<E, 's'>
    : never
  : never;

/** `[n, at]`: the network has had it since `at` (Unix ms); `[n, 0, reason]`: refused permanently. */
export const ackItem = z.union([
  z.tuple([z.int(), z.number()]),
  z.tuple([z.int(), z.literal(0), z.string()]),
]);

/** Network to driver. */
export const serverFrame = z.discriminatedUnion('t', [
  z.object({
    t: z.literal('flow'),
    acks: z.array(ackItem).optional(),
    events: z.array(networkEvent).optional(),
  }),
  z.object({ t: z.literal('qr'), qr: z.string(), expires_at: z.number() }),
  z.object({
    t: z.literal('paired'),
    token: z.string(),
    phone: z.string(),
    jid: z.string(),
    push_name: z.string(),
  }),
  z.object({ t: z.literal('welcome') }),
  z.object({ t: z.literal('bye'), reason: z.enum(BYE_REASONS) }),
  z.object({ t: z.literal('presence'), updates: z.array(presenceBody) }),
  z.object({
    t: z.literal('result'),
    n: z.int(),
    value: z.unknown().optional(),
    error: z.string().optional(),
  }),
]);
export type ServerFrame = z.infer<typeof serverFrame>;
