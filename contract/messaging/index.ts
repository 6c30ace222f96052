import type { AppRouter } from '@ts-rest/core';
import { admin } from './admin.ts';
import { audit } from './audit.ts';
import { auth } from './auth.ts';
import { business } from './business.ts';
import { chats, contacts } from './chats.ts';
import { cloud } from './cloud.ts';
import { deliveries } from './deliveries.ts';
import { events } from './events.ts';
import { feedback } from './feedback.ts';
import { groups } from './groups.ts';
import { health } from './health.ts';
import { instances } from './instances.ts';
import { labels } from './labels.ts';
import { lids } from './lids.ts';
import { media } from './media.ts';
import { messages } from './messages.ts';
import { notes } from './notes.ts';
import { oauth } from './oauth.ts';
import { openapi } from './openapi.ts';
import { playground } from './playground.ts';
import { presence } from './presence.ts';
import { profile } from './profile.ts';
import { queue } from './queue.ts';
import { scheduled } from './scheduled.ts';
import { status } from './status.ts';
import { templates } from './templates.ts';
import { tokens } from './tokens.ts';
import { usage } from './usage.ts';
import { users } from './users.ts';
import { webhooks } from './webhooks.ts';

/** Every endpoint of the messaging service. */
export const messagingContract = {
  auth,
  oauth,
  users,
  tokens,
  audit,
  admin,
  instances,
  messages,
  scheduled,
  status,
  queue,
  media,
  chats,
  contacts,
  labels,
  notes,
  groups,
  presence,
  profile,
  business,
  templates,
  lids,
  webhooks,
  cloud,
  deliveries,
  events,
  usage,
  feedback,
  playground,
  health,
  openapi,
} satisfies AppRouter;
