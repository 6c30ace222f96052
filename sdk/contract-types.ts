/**
 * The one place where types of the contract come in. The build writes them out in full in place of this
 * module, so the published types need neither the contract nor its libraries.
 *
 * A record that users should be able to name is added here; nothing else has to be done for it.
 */
import type { billingContract } from '@posthorn/contract/billing/index.ts';
import type { EventData, EventEnvelope, EventType } from '@posthorn/contract/events.ts';
import type { loginBody, registerBody, updateMeBody } from '@posthorn/contract/messaging/auth.ts';
import type { messagingContract } from '@posthorn/contract/messaging/index.ts';
import type {
  createInstanceBody,
  updateInstanceBody,
  updateSettingsBody,
} from '@posthorn/contract/messaging/instances.ts';
import type { sendTextBody } from '@posthorn/contract/messaging/send-bodies.ts';
import type { createTokenBody } from '@posthorn/contract/messaging/tokens.ts';
import type { createWebhookBody, updateWebhookBody } from '@posthorn/contract/messaging/webhooks.ts';
import type { z } from 'zod/v4';
import type { Methods } from './client-types.ts';

export type { CardDto as Card } from '@posthorn/contract/billing/cards.ts';
export type { AddonDto as Addon, PlanDto as Plan } from '@posthorn/contract/billing/catalog.ts';
export type { ChargeDto as Charge, ChargeStatus } from '@posthorn/contract/billing/charges.ts';
export type { ProfileDto as BillingProfile } from '@posthorn/contract/billing/profile.ts';
export type {
  SubscriptionDto as Subscription,
  SubscriptionStatus,
} from '@posthorn/contract/billing/subscriptions.ts';
export type { ErrorCode } from '@posthorn/contract/errors.ts';
export type { EventType } from '@posthorn/contract/events.ts';
export type { InboundFamily, MessageType, OutboundType } from '@posthorn/contract/message-types.ts';
export type {
  AccountDeleted,
  Me,
  QuickRegistered,
  Registered,
  Session,
} from '@posthorn/contract/messaging/auth.ts';
export type {
  DeliveredEvent,
  DeliveryStatus,
  InstanceMetrics,
  WebhookMetrics,
} from '@posthorn/contract/messaging/deliveries.ts';
export type { EventList, EventsTicket, ListedEvent } from '@posthorn/contract/messaging/events.ts';
export type { Readiness } from '@posthorn/contract/messaging/health.ts';
export type {
  Connection,
  Instance,
  InstanceMove,
  InstanceSettings,
  InstanceState,
  PairingCode,
  QrCode,
} from '@posthorn/contract/messaging/instances.ts';
export type {
  ChangeAccepted,
  Message,
  MessageStatus,
  SendAccepted,
  SendState,
} from '@posthorn/contract/messaging/message.ts';
export type { QueueTask } from '@posthorn/contract/messaging/queue.ts';
export type { ScheduleAccepted, ScheduledSend } from '@posthorn/contract/messaging/scheduled.ts';
export type { StatusItem, StatusPrivacy, StatusViews } from '@posthorn/contract/messaging/status.ts';
export type { CreatedToken, Token } from '@posthorn/contract/messaging/tokens.ts';
export type { UsageCounts } from '@posthorn/contract/messaging/usage.ts';
export type { UserDto as User } from '@posthorn/contract/messaging/users.ts';
export type {
  CreatedWebhook,
  DeliveryLog,
  RetryResult,
  RotatedSecret,
  SentTestEvent,
  Webhook,
} from '@posthorn/contract/messaging/webhooks.ts';

/** The `data` of each event by its type. */
export type EventDataByType = { [T in EventType]: EventData<T> };

/** What every event has besides its type and data. */
export type EventFields = Omit<EventEnvelope, 'type' | 'data'>;

/** The methods of the client. */
export type ContractMethods = Methods<typeof messagingContract>;

/** The methods of the billing client. */
export type BillingMethods = Methods<typeof billingContract>;

// What is sent, before defaults are filled in.
export type RegisterBody = z.input<typeof registerBody>;
export type LoginBody = z.input<typeof loginBody>;
export type UpdateMeBody = z.input<typeof updateMeBody>;
export type CreateInstanceBody = z.input<typeof createInstanceBody>;
export type UpdateInstanceBody = z.input<typeof updateInstanceBody>;
export type UpdateSettingsBody = z.input<typeof updateSettingsBody>;
export type SendTextBody = z.input<typeof sendTextBody>;
export type CreateTokenBody = z.input<typeof createTokenBody>;
export type CreateWebhookBody = z.input<typeof createWebhookBody>;
export type UpdateWebhookBody = z.input<typeof updateWebhookBody>;
