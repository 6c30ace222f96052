/** The kinds of content, in one place: send routes, message records and event names use these words. */

/** Types that can be sent, received and asked for. */
const COMMON_TYPES = [
  'text',
  'image',
  'video',
  'audio',
  'document',
  'sticker',
  'location',
  'contact',
  'reaction',
  'poll',
] as const;

/** Types the service sends. `<type>.delivery_failed` exists for each. */
export const OUTBOUND_TYPES = [
  ...COMMON_TYPES,
  'template',
  'approved_template',
  'list',
  'link_button',
  'event',
  'ptv',
  'gif',
  'status_text',
  'status_image',
  'status_video',
  'status_audio',
] as const;
export type OutboundType = (typeof OUTBOUND_TYPES)[number];

/** The asynchronous operations: words of the task queue, the guard and schedules. */
export const OPERATIONS = [
  ...COMMON_TYPES,
  'template',
  'approved_template',
  'list',
  'link_button',
  'link_preview',
  'event',
  'ptv',
  'gif',
  'forward',
  'delete',
  'edit',
  'status_text',
  'status_image',
  'status_video',
  'status_audio',
  'status_reply',
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Operations that `POST .../messages/scheduled` takes: all but the reply, whose status is gone within a day. */
export const SCHEDULABLE = OPERATIONS.filter((name) => name !== 'status_reply') as Exclude<
  Operation,
  'status_reply'
>[];
export type Schedulable = (typeof SCHEDULABLE)[number];

/** Those words as the paths of their sends spell them: `link-preview`, `status/text`. */
const AS_PATHS = new Map(
  SCHEDULABLE.map((name) => [name.replace(/^status_/, 'status/').replace('_', '-'), name] as const),
);
export const SCHEDULABLE_PATHS = [...AS_PATHS.keys()].filter(
  (path) => !(SCHEDULABLE as readonly string[]).includes(path),
);

/** The word of a send, in either spelling. */
export function schedulableOf(spelt: string): Schedulable {
  return AS_PATHS.get(spelt) ?? (spelt as Schedulable);
}

/** Content families that arrive in chats. `<family>.received` and `<family>.deleted` exist for each. */
export const INBOUND_FAMILIES = [
  ...COMMON_TYPES,
  'poll_vote',
  'template',
  'template_reply',
  'event',
  'ptv',
  'gif',
  'order',
  'product',
  'unknown',
] as const;
export type InboundFamily = (typeof INBOUND_FAMILIES)[number];

/** `message_type` of any message. */
export const MESSAGE_TYPES = [...new Set([...OUTBOUND_TYPES, ...INBOUND_FAMILIES])] as readonly (
  | OutboundType
  | InboundFamily
)[];
export type MessageType = OutboundType | InboundFamily;
