import type { MessageStatus } from '@posthorn/sdk/index.ts';
import { textAt } from '../../components/search-text.ts';

export const STATUSES = ['queued', 'sent', 'delivered', 'read', 'played', 'failed', 'received'] as const;
export const DIRECTIONS = ['inbound', 'outbound'] as const;
export const TYPES = [
  'text',
  'image',
  'video',
  'audio',
  'document',
  'sticker',
  'location',
  'contact',
  'poll',
  'reaction',
] as const;

/** What the address says of the list, so that it can be sent to somebody. */
export interface Filters {
  instance?: string | undefined;
  /** A phone or a chat id. */
  chat?: string | undefined;
  direction?: (typeof DIRECTIONS)[number] | undefined;
  status?: MessageStatus | undefined;
  type?: (typeof TYPES)[number] | undefined;
}

export function readFilters(search: Record<string, unknown>): Filters {
  return {
    instance: textAt(search, 'instance'),
    chat: textAt(search, 'chat'),
    direction: DIRECTIONS.find((direction) => direction === search.direction),
    status: STATUSES.find((status) => status === search.status),
    type: TYPES.find((type) => type === search.type),
  };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether what somebody searches for names one message. */
export function isMessageId(text: string): boolean {
  return UUID.test(text);
}
