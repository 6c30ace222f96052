import { Spine } from './0001-spine.ts';
import { Accounts } from './0002-accounts.ts';
import { Events } from './0003-events.ts';
import { Sends } from './0005-sends.ts';
import { DeliveryReports } from './0006-delivery-reports.ts';
import { Media } from './0007-media.ts';
import { PlanLimits } from './0010-plan-limits.ts';
import { DeliveryRoom } from './0011-delivery-room.ts';
import { RefusedLogs } from './0012-refused-logs.ts';
import { Arrivals } from './0025-arrivals.ts';
import { StorageQuota } from './0026-storage-quota.ts';
import { EmailProof } from './0030-email-proof.ts';
import { MailBudgets } from './0031-mail-budgets.ts';
import { FailedLogins } from './0032-failed-logins.ts';
import { LimitsOfStrangers } from './0035-limits-of-strangers.ts';
import { EventsTickets } from './0036-events-tickets.ts';
import { NetworkDrivers } from './0041-network-drivers.ts';
import { Owners } from './0045-owners.ts';
import { WriteProbes } from './0050-write-probes.ts';
import { AcceptedContents } from './0055-accepted-contents.ts';
import { Labels } from './0060-labels.ts';
import { ChatNotes } from './0061-chat-notes.ts';
import { Chats } from './0062-chats.ts';
import { DeviceSyncs } from './0063-device-syncs.ts';
import { Groups } from './0064-groups.ts';
import { Lids } from './0065-lids.ts';
import { Feedback } from './0067-feedback.ts';
import { Playground } from './0068-playground.ts';
import { PlaygroundEvents } from './0071-playground-events.ts';
import { SessionKeys } from './0072-session-keys.ts';
import { ScheduledEnds } from './0077-scheduled-ends.ts';
import { ScheduledLimit } from './0079-scheduled-limit.ts';
import { EventSizes } from './0081-event-sizes.ts';
import { Typing } from './0085-typing.ts';

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
  Arrivals,
  StorageQuota,
  EmailProof,
  MailBudgets,
  FailedLogins,
  LimitsOfStrangers,
  EventsTickets,
  NetworkDrivers,
  Owners,
  WriteProbes,
  AcceptedContents,
  Labels,
  ChatNotes,
  Chats,
  DeviceSyncs,
  Groups,
  Lids,
  Feedback,
  Playground,
  PlaygroundEvents,
  SessionKeys,
  ScheduledEnds,
  ScheduledLimit,
  EventSizes,
  Typing,
];
