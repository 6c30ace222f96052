import { Spine } from './0001-spine.ts';
import { Accounts } from './0002-accounts.ts';
import { Events } from './0003-events.ts';
import { Sends } from './0005-sends.ts';
import { DeliveryReports } from './0006-delivery-reports.ts';
import { Media } from './0007-media.ts';
import { PlanLimits } from './0010-plan-limits.ts';
import { DeliveryRoom } from './0011-delivery-room.ts';
import { RefusedLogs } from './0012-refused-logs.ts';
import { Owners } from './0045-owners.ts';

/** Every migration of the messaging schema, oldest first. A landed one is never edited. */
export const migrations = [
  Spine,
  Accounts,
  Events,
  Sends,
  DeliveryReports,
  Media,
  PlanLimits,
  DeliveryRoom,
  RefusedLogs,
  Owners,
];
