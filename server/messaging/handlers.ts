import type { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { createSchemaCheck } from '@posthorn/core/migrations/require-schema.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { clockCheck } from '@posthorn/core/platform/database/database-clock.ts';
import { answeringInTime } from '@posthorn/core/platform/database/in-time.ts';
import { createWriteProbe } from '@posthorn/core/platform/database/write-probe.ts';
import { createFolderProbe } from '@posthorn/core/platform/process/folder-probe.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Check } from '@posthorn/core/platform/process/readiness.ts';
import type { Handlers } from '../http/handler.ts';
import { healthHandlers } from '../http/health.ts';
import { referenceHandlers } from '../http/reference.ts';
import { type AdminRoutesDeps, adminRoutes } from './admin-routes.ts';
import { auditRoutes } from './audit-routes.ts';
import { type AuthRoutesDeps, authRoutes } from './auth-routes.ts';
import { businessRoutes } from './business-routes.ts';
import { chatsRoutes, contactsRoutes } from './chats-routes.ts';
import { cloudRoutes } from './cloud-routes.ts';
import { deliveriesRoutes } from './deliveries-routes.ts';
import { type EventsRoutesDeps, eventsRoutes } from './events-routes.ts';
import { type FeedbackRoutesDeps, feedbackRoutes } from './feedback-routes.ts';
import { groupsRoutes } from './groups-routes.ts';
import { type InstancesRoutesDeps, instancesRoutes } from './instances-routes.ts';
import { labelsRoutes } from './labels-routes.ts';
import { lidsRoutes } from './lids-routes.ts';
import { type MediaRoutesDeps, mediaRoutes } from './media-routes.ts';
import { type MessagesRoutesDeps, messagesRoutes } from './messages-routes.ts';
import { notesRoutes } from './notes-routes.ts';
import { type OAuthRoutesDeps, oauthRoutes } from './oauth-routes.ts';
import { type PlaygroundRoutesDeps, playgroundRoutes } from './playground-routes.ts';
import { presenceRoutes } from './presence-routes.ts';
import { profileRoutes } from './profile-routes.ts';
import { queueRoutes } from './queue-routes.ts';
import { scheduledRoutes } from './scheduled-routes.ts';
import { statusRoutes } from './status-routes.ts';
import { templatesRoutes } from './templates-routes.ts';
import { type TokensRoutesDeps, tokensRoutes } from './tokens-routes.ts';
import { usageRoutes } from './usage-routes.ts';
import { usersRoutes } from './users-routes.ts';
import { type WebhooksRoutesDeps, webhooksRoutes } from './webhooks-routes.ts';

export interface HandlersDeps
  extends AuthRoutesDeps,
    AdminRoutesDeps,
    Omit<EventsRoutesDeps, 'db'>,
    FeedbackRoutesDeps,
    InstancesRoutesDeps,
    MediaRoutesDeps,
    MessagesRoutesDeps,
    OAuthRoutesDeps,
    PlaygroundRoutesDeps,
    TokensRoutesDeps,
    WebhooksRoutesDeps {
  config: Config;
  metrics: Metrics;
  isDraining: () => boolean;
}

/** A handler for every route of the messaging contract, one file per resource. */
export function messagingHandlers(deps: HandlersDeps): Handlers<typeof messagingContract> {
  // Their statements are answered in time each; those of one send have one time together.
  const sends = { ...deps, db: answeringInTime(deps.db) };
  return {
    auth: authRoutes(deps),
    oauth: oauthRoutes(deps),
    users: usersRoutes(deps),
    tokens: tokensRoutes(deps),
    instances: instancesRoutes(deps),
    messages: messagesRoutes(sends),
    scheduled: scheduledRoutes(sends),
    status: statusRoutes(sends),
    queue: queueRoutes(deps),
    media: mediaRoutes(deps),
    chats: chatsRoutes(deps),
    contacts: contactsRoutes(deps),
    labels: labelsRoutes(deps),
    notes: notesRoutes(deps),
    groups: groupsRoutes(deps),
    presence: presenceRoutes(deps),
    profile: profileRoutes(deps),
    business: businessRoutes(deps),
    templates: templatesRoutes(deps),
    lids: lidsRoutes(deps),
    webhooks: webhooksRoutes(deps),
    cloud: cloudRoutes(deps),
    deliveries: deliveriesRoutes(deps),
    events: eventsRoutes(deps),
    usage: usageRoutes(deps),
    audit: auditRoutes(deps),
    admin: adminRoutes(deps),
    feedback: feedbackRoutes(deps),
    playground: playgroundRoutes(deps),
    health: healthHandlers({
      service: 'messaging',
      checks: readinessChecks(deps),
      isDraining: deps.isDraining,
      metrics: deps.metrics,
    }),
    openapi: referenceHandlers({ service: 'messaging', publicUrl: deps.publicUrl, clock: deps.clock }),
  };
}

/**
 * The checks without which messaging is not ready. The local media folder is checked even if a bucket stores
 * the media.
 */
function readinessChecks(deps: HandlersDeps): Record<string, Check> {
  const takesWrites = createWriteProbe(deps);
  const hasSchema = createSchemaCheck(deps.db, 'messaging');
  const { storage } = deps.storedMedia;
  return {
    // Queried each time, not cached.
    database: async () => {
      await hasSchema();
      await deps.db.query('SELECT 1 FROM companies LIMIT 1');
      await takesWrites();
    },
    notifications: () => deps.bus.isUp(),
    clock: clockCheck(deps.clock),
    ...(storage && { media: createFolderProbe(storage.spoolDir) }),
  };
}
