import type { AppRouter } from '@ts-rest/core';
import { auth } from './auth.ts';
import { events } from './events.ts';
import { health } from './health.ts';
import { instances } from './instances.ts';
import { messages } from './messages.ts';
import { tokens } from './tokens.ts';
import { usage } from './usage.ts';
import { webhooks } from './webhooks.ts';

/** Every endpoint of the messaging service. */
export const messagingContract = {
  auth,
  tokens,
  instances,
  messages,
  webhooks,
  events,
  usage,
  health,
} satisfies AppRouter;
