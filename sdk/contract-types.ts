// long: a line for each type of the contract that users may name
/**
 * The only module that imports types of the contract. The build replaces it by the types written out in full, so the
 * published types need neither the contract nor its libraries.
 *
 * To let users name a record, add it here; nothing else is needed.
 */

import type { tokenizeCardBody } from '@posthorn/contract/billing/cards.ts';
import type { billingContract } from '@posthorn/contract/billing/index.ts';
import type {
  createProfileBody as createBillingProfileBody,
  updateProfileBody as updateBillingProfileBody,
} from '@posthorn/contract/billing/profile.ts';
import type {
  addItemBody,
  cancelBody,
  changePlanBody,
  createSubscriptionBody,
} from '@posthorn/contract/billing/subscriptions.ts';
import type { EventData, EventEnvelope, EventType } from '@posthorn/contract/events.ts';
import type {
  changePasswordBody,
  confirmEmailChangeBody,
  deleteAccountBody,
  forgotPasswordBody,
  loginBody,
  quickRegisterBody,
  registerBody,
  resetPasswordBody,
  startEmailChangeBody,
  updateMeBody,
  verifyEmailBody,
} from '@posthorn/contract/messaging/auth.ts';
import type {
  archiveChatBody,
  checkContactsBody,
  muteChatBody,
  pinChatBody,
  readChatBody,
} from '@posthorn/contract/messaging/chats.ts';
import type { giveCredentialsBody } from '@posthorn/contract/messaging/credentials.ts';
import type { retryBulkBody } from '@posthorn/contract/messaging/deliveries.ts';
import type { feedbackBody } from '@posthorn/contract/messaging/feedback.ts';
import type {
  createGroupBody,
  joinGroupBody,
  participantsBody,
  updateGroupBody,
} from '@posthorn/contract/messaging/groups.ts';
import type { messagingContract } from '@posthorn/contract/messaging/index.ts';
import type {
  createInstanceBody,
  pairingCodeBody,
  updateInstanceBody,
  updateSettingsBody,
} from '@posthorn/contract/messaging/instances.ts';
import type { createLabelBody, updateLabelBody } from '@posthorn/contract/messaging/labels.ts';
import type { uploadMediaBody } from '@posthorn/contract/messaging/media.ts';
import type {
  audioBody,
  documentBody,
  gifBody,
  imageBody,
  ptvBody,
  statusAudioBody,
  statusImageBody,
  statusVideoBody,
  stickerBody,
  videoBody,
} from '@posthorn/contract/messaging/media-bodies.ts';
import type { pinBody, starBody, voteBody } from '@posthorn/contract/messaging/message-actions.ts';
import type { noteBody } from '@posthorn/contract/messaging/notes.ts';
import type { completeSignupBody } from '@posthorn/contract/messaging/oauth.ts';
import type {
  sendApprovedTemplateBody,
  sendLinkButtonBody,
  sendListBody,
} from '@posthorn/contract/messaging/official-bodies.ts';
import type { playgroundBody } from '@posthorn/contract/messaging/playground.ts';
import type { presenceBody } from '@posthorn/contract/messaging/presence.ts';
import type { updateProfileBody } from '@posthorn/contract/messaging/profile.ts';
import type { scheduleBody } from '@posthorn/contract/messaging/scheduled.ts';
import type {
  deleteMessageBody,
  editMessageBody,
  sendContactBody,
  sendEventBody,
  sendForwardBody,
  sendLinkPreviewBody,
  sendLocationBody,
  sendPollBody,
  sendReactionBody,
  sendTemplateBody,
  sendTextBody,
} from '@posthorn/contract/messaging/send-bodies.ts';
import type { statusReplyBody, statusTextBody } from '@posthorn/contract/messaging/status.ts';
import type { createTemplateBody } from '@posthorn/contract/messaging/templates.ts';
import type { createTokenBody } from '@posthorn/contract/messaging/tokens.ts';
import type { createUserBody, updateUserBody } from '@posthorn/contract/messaging/users.ts';
import type { createWebhookBody, updateWebhookBody } from '@posthorn/contract/messaging/webhooks.ts';
import type { JsonBody, MediaBody, Methods } from './client-types.ts';

export type { CardDto as Card } from '@posthorn/contract/billing/cards.ts';
export type { AddonDto as Addon, PlanDto as Plan } from '@posthorn/contract/billing/catalog.ts';
export type { ChargeDto as Charge, ChargeStatus } from '@posthorn/contract/billing/charges.ts';
export type {
  AddressDto as BillingAddress,
  ProfileDto as BillingProfile,
} from '@posthorn/contract/billing/profile.ts';
export type {
  AddedItem,
  SubscriptionDto as Subscription,
  SubscriptionItemDto as SubscriptionItem,
  SubscriptionStatus,
} from '@posthorn/contract/billing/subscriptions.ts';
export type { ErrorCode } from '@posthorn/contract/errors.ts';
export type { EventType } from '@posthorn/contract/events.ts';
export type { InboundFamily, MessageType, OutboundType } from '@posthorn/contract/message-types.ts';
export type {
  AdminInstance,
  CompanyDto as Company,
  IpReputation,
} from '@posthorn/contract/messaging/admin.ts';
export type { AuditEntryDto as AuditEntry } from '@posthorn/contract/messaging/audit.ts';
export type {
  AccountDeleted,
  Me,
  QuickRegistered,
  Registered,
  Session,
} from '@posthorn/contract/messaging/auth.ts';
export type {
  BusinessProfile,
  Catalog,
  Collections,
  Product,
} from '@posthorn/contract/messaging/business.ts';
export type { BlockedContact, Chat, CheckedContacts, Contact } from '@posthorn/contract/messaging/chats.ts';
export type {
  CompanyDeliveryLog,
  DeliveredEvent,
  DeliveryStatus,
  InstanceMetrics,
  WebhookMetrics,
} from '@posthorn/contract/messaging/deliveries.ts';
export type { EventList, EventsTicket, ListedEvent } from '@posthorn/contract/messaging/events.ts';
export type { FeedbackEntry as Feedback } from '@posthorn/contract/messaging/feedback.ts';
export type {
  Group,
  GroupCreated,
  GroupInvite,
  GroupLeft,
  GroupSummary,
  ParticipantOutcome as GroupParticipantOutcome,
  ParticipantsChanged as GroupParticipantsChanged,
} from '@posthorn/contract/messaging/groups.ts';
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
export type { Label, LabelledChat, LabelledMessage } from '@posthorn/contract/messaging/labels.ts';
export type { Lid } from '@posthorn/contract/messaging/lids.ts';
export type {
  MediaConversation,
  MediaInfo,
  MediaItem,
  UploadResult as MediaUploaded,
} from '@posthorn/contract/messaging/media.ts';
export type {
  ChangeAccepted,
  Message,
  MessageStatus,
  SendAccepted,
  SendState,
} from '@posthorn/contract/messaging/message.ts';
export type {
  PinDone,
  StarDone,
  VoteDone as PollVoteDone,
} from '@posthorn/contract/messaging/message-actions.ts';
export type { ChatNote } from '@posthorn/contract/messaging/notes.ts';
export type { OAuthProviderList } from '@posthorn/contract/messaging/oauth.ts';
export type {
  PlaygroundMessage,
  PlaygroundSent,
  PlaygroundState as Playground,
} from '@posthorn/contract/messaging/playground.ts';
export type { PresenceSet, PresenceSubscribed } from '@posthorn/contract/messaging/presence.ts';
export type { ProfileView as Profile } from '@posthorn/contract/messaging/profile.ts';
export type { QueueTask } from '@posthorn/contract/messaging/queue.ts';
export type { ScheduleAccepted, ScheduledSend } from '@posthorn/contract/messaging/scheduled.ts';
export type { ContactItem } from '@posthorn/contract/messaging/send-bodies.ts';
export type { StatusItem, StatusPrivacy, StatusViews } from '@posthorn/contract/messaging/status.ts';
export type { MessageTemplate, MessageTemplateList } from '@posthorn/contract/messaging/templates.ts';
export type { CreatedToken, Token } from '@posthorn/contract/messaging/tokens.ts';
export type { CompanyUsage, UsageCounts } from '@posthorn/contract/messaging/usage.ts';
export type { UserDto as User } from '@posthorn/contract/messaging/users.ts';
export type {
  CreatedWebhook,
  DeliveryLog,
  RetryResult,
  RotatedSecret,
  SentTestEvent,
  Webhook,
} from '@posthorn/contract/messaging/webhooks.ts';

export type { EventPattern } from './client-types.ts';

/** The `data` of each event by its type. */
export type EventDataByType = { [T in EventType]: EventData<T> };

/** The fields of every event besides its type and data. */
export type EventFields = Omit<EventEnvelope, 'type' | 'data'>;

/** The methods of the client. */
export type ContractMethods = Methods<typeof messagingContract>;

/** The methods of the billing client. */
export type BillingMethods = Methods<typeof billingContract>;

// Request bodies before defaults are filled in; a FormData may always take the place of a body with media.
export type RegisterBody = JsonBody<typeof registerBody>;
export type QuickRegisterBody = JsonBody<typeof quickRegisterBody>;
export type LoginBody = JsonBody<typeof loginBody>;
export type ForgotPasswordBody = JsonBody<typeof forgotPasswordBody>;
export type ResetPasswordBody = JsonBody<typeof resetPasswordBody>;
export type VerifyEmailBody = JsonBody<typeof verifyEmailBody>;
export type UpdateMeBody = JsonBody<typeof updateMeBody>;
export type ChangePasswordBody = JsonBody<typeof changePasswordBody>;
export type StartEmailChangeBody = JsonBody<typeof startEmailChangeBody>;
export type ConfirmEmailChangeBody = JsonBody<typeof confirmEmailChangeBody>;
export type DeleteAccountBody = JsonBody<typeof deleteAccountBody>;
export type CompleteSignupBody = JsonBody<typeof completeSignupBody>;
export type CreateUserBody = JsonBody<typeof createUserBody>;
export type UpdateUserBody = JsonBody<typeof updateUserBody>;
export type CreateTokenBody = JsonBody<typeof createTokenBody>;
export type CreateInstanceBody = JsonBody<typeof createInstanceBody>;
export type UpdateInstanceBody = JsonBody<typeof updateInstanceBody>;
export type GiveCredentialsBody = JsonBody<typeof giveCredentialsBody>;
export type PairingCodeBody = JsonBody<typeof pairingCodeBody>;
export type SendTextBody = JsonBody<typeof sendTextBody>;
export type SendLinkPreviewBody = JsonBody<typeof sendLinkPreviewBody>;
export type SendLocationBody = JsonBody<typeof sendLocationBody>;
export type SendContactBody = JsonBody<typeof sendContactBody>;
export type SendReactionBody = JsonBody<typeof sendReactionBody>;
export type SendPollBody = JsonBody<typeof sendPollBody>;
export type SendTemplateBody = JsonBody<typeof sendTemplateBody>;
export type SendApprovedTemplateBody = JsonBody<typeof sendApprovedTemplateBody>;
export type SendListBody = JsonBody<typeof sendListBody>;
export type SendLinkButtonBody = JsonBody<typeof sendLinkButtonBody>;
export type CreateTemplateBody = JsonBody<typeof createTemplateBody>;
export type SendEventBody = JsonBody<typeof sendEventBody>;
export type ForwardBody = JsonBody<typeof sendForwardBody>;
export type DeleteMessageBody = JsonBody<typeof deleteMessageBody>;
export type EditMessageBody = JsonBody<typeof editMessageBody>;
export type SendImageBody = MediaBody<typeof imageBody.json>;
export type SendVideoBody = MediaBody<typeof videoBody.json>;
export type SendAudioBody = MediaBody<typeof audioBody.json>;
export type SendDocumentBody = MediaBody<typeof documentBody.json>;
export type SendStickerBody = MediaBody<typeof stickerBody.json>;
export type SendPtvBody = MediaBody<typeof ptvBody.json>;
export type SendGifBody = MediaBody<typeof gifBody.json>;
export type PostStatusImageBody = MediaBody<typeof statusImageBody.json>;
export type PostStatusVideoBody = MediaBody<typeof statusVideoBody.json>;
export type PostStatusAudioBody = MediaBody<typeof statusAudioBody.json>;
export type PinBody = JsonBody<typeof pinBody>;
export type PollVoteBody = JsonBody<typeof voteBody>;
export type StarBody = JsonBody<typeof starBody>;
export type ScheduleBody = JsonBody<typeof scheduleBody>;
export type PostStatusTextBody = JsonBody<typeof statusTextBody>;
export type StatusReplyBody = MediaBody<typeof statusReplyBody.json>;
export type UploadMediaBody = MediaBody<typeof uploadMediaBody>;
export type ReadChatBody = JsonBody<typeof readChatBody>;
export type ArchiveChatBody = JsonBody<typeof archiveChatBody>;
export type PinChatBody = JsonBody<typeof pinChatBody>;
export type MuteChatBody = JsonBody<typeof muteChatBody>;
export type CheckContactsBody = JsonBody<typeof checkContactsBody>;
export type CreateLabelBody = JsonBody<typeof createLabelBody>;
export type UpdateLabelBody = JsonBody<typeof updateLabelBody>;
export type ChatNoteBody = JsonBody<typeof noteBody>;
export type CreateGroupBody = JsonBody<typeof createGroupBody>;
export type UpdateGroupBody = JsonBody<typeof updateGroupBody>;
export type GroupParticipantsBody = JsonBody<typeof participantsBody>;
export type JoinGroupBody = JsonBody<typeof joinGroupBody>;
export type PresenceBody = JsonBody<typeof presenceBody>;
export type UpdateProfileBody = JsonBody<typeof updateProfileBody>;
export type CreateWebhookBody = JsonBody<typeof createWebhookBody>;
export type UpdateWebhookBody = JsonBody<typeof updateWebhookBody>;
export type RetryBulkBody = JsonBody<typeof retryBulkBody>;
export type FeedbackBody = JsonBody<typeof feedbackBody>;
export type PlaygroundBody = JsonBody<typeof playgroundBody>;
export type TokenizeCardBody = JsonBody<typeof tokenizeCardBody>;
export type CreateBillingProfileBody = JsonBody<typeof createBillingProfileBody>;
export type UpdateBillingProfileBody = JsonBody<typeof updateBillingProfileBody>;
export type CreateSubscriptionBody = JsonBody<typeof createSubscriptionBody>;
export type ChangePlanBody = JsonBody<typeof changePlanBody>;
export type CancelSubscriptionBody = JsonBody<typeof cancelBody>;
export type AddItemBody = JsonBody<typeof addItemBody>;
export type UpdateSettingsBody = JsonBody<typeof updateSettingsBody>;
