import type { MessageStatus, MessageType } from '@posthorn/sdk/index.ts';
import { textAt } from '../../components/search-text.ts';

/** All messages without one. */
export const VIEWS = ['queue', 'scheduled'] as const;
export type View = (typeof VIEWS)[number];
export const STATUSES = ['queued', 'sent', 'delivered', 'read', 'played', 'failed', 'received'] as const;
export const DIRECTIONS = ['inbound', 'outbound'] as const;
/** Every message type of the contract; a new one does not compile until it is listed here. */
const EVERY_TYPE: Record<MessageType, true> = {
  text: true,
  image: true,
  video: true,
  audio: true,
  document: true,
  sticker: true,
  location: true,
  contact: true,
  reaction: true,
  poll: true,
  poll_vote: true,
  template: true,
  approved_template: true,
  list: true,
  link_button: true,
  template_reply: true,
  event: true,
  ptv: true,
  gif: true,
  order: true,
  product: true,
  status_text: true,
  status_image: true,
  status_video: true,
  status_audio: true,
  unknown: true,
};
export const TYPES = Object.keys(EVERY_TYPE) as MessageType[];

/** The filters of the list, kept in the address so that users can share it. */
export interface Filters {
  instance?: string | undefined;
  show?: View | undefined;
  /** A phone or a chat id. */
  chat?: string | undefined;
  direction?: (typeof DIRECTIONS)[number] | undefined;
  status?: MessageStatus | undefined;
  type?: MessageType | undefined;
}

export function readFilters(search: Record<string, unknown>): Filters {
  return {
    instance: textAt(search, 'instance'),
    show: VIEWS.find((view) => view === search.show),
    chat: textAt(search, 'chat'),
    direction: DIRECTIONS.find((direction) => direction === search.direction),
    status: STATUSES.find((status) => status === search.status),
    type: TYPES.find((type) => type === search.type),
  };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether the searched text is a message id. */
export function isMessageId(text: string): boolean {
  return UUID.test(text);
}
