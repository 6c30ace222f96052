import { ApiTokenSchema, UserSchema } from '@posthorn/core/accounts/entities.ts';
import { AuditEntrySchema } from '@posthorn/core/audit/entities.ts';
import {
  InstancePairingSchema,
  InstanceSchema,
  InstanceTransitionSchema,
} from '@posthorn/core/instances/entities.ts';
import { WebhookSchema } from '@posthorn/core/webhooks/entities.ts';

/** All entities that the messaging routes access through the ORM; each belongs to a company. */
export const messagingEntities = [
  UserSchema,
  ApiTokenSchema,
  AuditEntrySchema,
  InstanceSchema,
  InstanceTransitionSchema,
  InstancePairingSchema,
  WebhookSchema,
];
