import type { Operation } from '@posthorn/contract/message-types.ts';
import type { NetworkActions } from '@posthorn/core/network/actions.ts';

/**
 * Operations and questions that the network has no message or path for, or that this driver does not implement; asking
 * for one answers 501 (docs/guides/official-number.md).
 */
export const LACKS = [
  ...['poll', 'event', 'ptv', 'gif', 'forward', 'edit', 'delete'],
  ...['status_text', 'status_image', 'status_video', 'status_audio', 'status_reply'],
  ...['pin', 'poll_vote', 'star', 'status_privacy', 'label_edit', 'label_chat', 'label_message'],
  ...['chat_archive', 'chat_pin', 'chat_mute', 'contacts_check', 'lid_phone', 'presence_subscribe'],
  ...['groups_list', 'group_info', 'group_create', 'group_update', 'group_participants', 'group_invite'],
  ...['group_revoke_invite', 'group_join', 'group_leave', 'profile', 'profile_update', 'business_profile'],
  ...['business_catalog', 'business_collections', 'reject_call'],
] as const satisfies readonly (Operation | keyof NetworkActions)[];
