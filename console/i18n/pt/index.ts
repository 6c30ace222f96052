import type { Translations } from '../translations.ts';
import { chats } from './chats.ts';
import { common } from './common.ts';
import { events } from './events.ts';
import { home } from './home.ts';
import { instances } from './instances.ts';
import { messages } from './messages.ts';
import { queue } from './queue.ts';
import { session } from './session.ts';
import { settings } from './settings.ts';
import { webhooks } from './webhooks.ts';

export const pt: Translations = {
  common,
  session,
  home,
  instances,
  chats,
  messages,
  queue,
  webhooks,
  events,
  settings,
};
