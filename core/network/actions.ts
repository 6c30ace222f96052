/** Questions that a session answers at once. */
import type { Jid } from '@posthorn/contract/jid.ts';
import type { MessageTarget } from './messages.ts';

/** Questions that are answered at once. Keys are wire names: they travel from the API as they are. */
export interface NetworkActions {
  /** Refused: `message_not_found`, `not_admin`. */
  pin: {
    args: { chat: Jid; target: MessageTarget; pin: boolean; duration_s: number };
    answer: { envelope_id: string };
  };
  /** Refused: `message_not_found`, `poll_secret_missing`, `invalid_option`, `too_many_options`. */
  poll_vote: {
    args: { chat: Jid; target: MessageTarget; options: readonly string[] };
    answer: { envelope_id: string };
  };
  /** Changes the account's own state; the sink hears `starred` when it has synced. `message_not_found`. */
  star: { args: { chat: Jid; target: MessageTarget; starred: boolean }; answer: Record<string, never> };
  /** Every setting that there is; the one in force is the default one. `list` holds phones. */
  status_privacy: {
    args: Record<string, never>;
    answer: { type: 'contacts' | 'blacklist' | 'whitelist'; list: string[]; is_default: boolean }[];
  };

  /**
   * Makes, changes or deletes a label in a slot that the caller chose; the sink hears `label` with the same
   * revision. Refused: `label_not_found` when one is changed or deleted that is not there; with `is_new`, as far
   * as the network can tell, `slot_taken` and `label_limit`.
   */
  label_edit: {
    args: { label_id: string; name: string; color: number; deleted: boolean; is_new: boolean };
    answer: { revision: number };
  };
  /** The sink hears `label_chat`. Refused: `label_not_found`. */
  label_chat: { args: { label_id: string; chat: Jid; associated: boolean }; answer: { revision: number } };
  /** The sink hears `label_message`. Refused: `label_not_found`, `message_not_found`. */
  label_message: {
    args: { label_id: string; chat: Jid; target: MessageTarget; associated: boolean };
    answer: { revision: number };
  };

  /**
   * Marks a chat as read, or as unread, on the account's devices; the sink hears `chat`. With `read` the senders of
   * the messages of these network ids, oldest first, learn that they were read; ids that are unknown are passed over.
   */
  chat_read: {
    args: { chat: Jid; read: boolean; message_ids: readonly string[] };
    answer: { revision: number };
  };
  chat_archive: { args: { chat: Jid; archived: boolean }; answer: { revision: number } };
  /** Refused: `too_many_pins`. */
  chat_pin: { args: { chat: Jid; pinned: boolean }; answer: { revision: number } };
  /** `until` in Unix ms, 0 without an end; null unmutes. */
  chat_mute: { args: { chat: Jid; until: number | null }; answer: { revision: number } };

  /** Which of these numbers have an account, in the order asked. */
  contacts_check: {
    args: { phones: readonly string[] };
    answer: { phone: string; exists: boolean; jid: Jid | null; is_business: boolean }[];
  };
  /** The sink hears `blocked`. */
  contact_block: { args: { jid: Jid; blocked: boolean }; answer: { revision: number } };
  /** The phone behind an anonymous id; null where the network does not tell. */
  lid_phone: { args: { lid: Jid }; answer: { phone: string | null } };

  /** The groups that the account is in. */
  groups_list: { args: Record<string, never>; answer: GroupInfo[] };
  /** Refused: `group_not_found`, `not_participant`. So are all that follow. */
  group_info: { args: { group: Jid }; answer: GroupInfo };
  /** `refused` names the participants whom the network did not add; they may be invited. */
  group_create: {
    args: { name: string; participants: readonly Jid[] };
    answer: { group: GroupInfo; refused: ParticipantRefusal[] };
  };
  /** Only what is given changes. Refused: `not_admin`. */
  group_update: {
    args: { group: Jid; name?: string; description?: string; announce?: boolean; locked?: boolean };
    answer: GroupInfo;
  };
  /** Refused: `not_admin`. Each participant has an outcome of its own. */
  group_participants: {
    args: { group: Jid; action: ParticipantAction; participants: readonly Jid[] };
    answer: { group: GroupInfo; refused: ParticipantRefusal[] };
  };
  /** The code of the group's invite link. Refused: `not_admin`. */
  group_invite: { args: { group: Jid }; answer: { code: string } };
  /** Makes the code void and gives the new one. Refused: `not_admin`. */
  group_revoke_invite: { args: { group: Jid }; answer: { code: string } };
  /** Refused: `invite_invalid`, `group_full`. */
  group_join: { args: { code: string }; answer: { group: Jid } };
  group_leave: { args: { group: Jid }; answer: Record<string, never> };

  /** Without `chat`: whether the account is online. With it: what is done in that chat. Refused: `chat_not_found`. */
  presence_set: {
    args: { state: 'available' | 'unavailable' } | { state: 'composing' | 'recording' | 'paused'; chat: Jid };
    answer: Record<string, never>;
  };
  /** From now on, until the session ends, the sink hears `presence` of this one. Refused: `chat_not_found`. */
  presence_subscribe: { args: { jid: Jid }; answer: Record<string, never> };

  /** The account's own. */
  profile: { args: Record<string, never>; answer: Profile };
  /** Only what is given changes; `picture` is a JPEG or PNG in base64, null takes it away. */
  profile_update: {
    args: { name?: string; about?: string; picture?: string | null };
    answer: Profile;
  };

  /** Refused: `not_a_business`. */
  business_profile: { args: { jid: Jid }; answer: BusinessProfile };
  /** A page; a business without a catalog has no products. Refused: `cursor_invalid`. */
  business_catalog: {
    args: { jid: Jid; limit: number; cursor?: string };
    answer: { products: Product[]; next_cursor: string | null };
  };
  business_collections: {
    args: { jid: Jid; limit: number };
    answer: { id: string; name: string; status: string; products: Product[] }[];
  };

  /** A page of the account's templates that the network reviews. Refused: `cursor_invalid`. */
  template_list: {
    args: { limit: number; cursor?: string; name?: string; status?: string };
    answer: { templates: ReviewedTemplate[]; next_cursor: string | null };
  };
  /** Gives a template for review; `refused` are the network's words. Refused: `template_exists`, `rate_limited`. */
  template_create: {
    args: {
      name: string;
      language: string;
      category: string;
      components: readonly Record<string, unknown>[];
    };
    answer: { id: string; status: string; category: string } | { refused: string };
  };
  /** In all languages, or in one. Refused: `template_not_found`, `rate_limited`. */
  template_delete: { args: { name: string; language?: string }; answer: Record<string, never> };

  /** Ends a call before it is taken. A call that is over is passed over. */
  reject_call: { args: { call_id: string; from: Jid }; answer: Record<string, never> };
}

export type ParticipantAction = 'add' | 'remove' | 'promote' | 'demote';

/** `reason`: `no_account`, `not_allowed` (privacy), `already_in`, `not_in`, `left_recently`, `group_full`. */
export interface ParticipantRefusal {
  jid: Jid;
  reason: string;
}

export interface GroupInfo {
  jid: Jid;
  name: string;
  description: string;
  owner: Jid | null;
  /** Unix ms; null where it is not known. */
  created_at: number | null;
  /** Only admins send. */
  announce: boolean;
  /** Only admins change name and description. */
  locked: boolean;
  participants: GroupParticipant[];
}

export interface GroupParticipant {
  jid: Jid;
  role: 'member' | 'admin' | 'superadmin';
}

export interface Profile {
  name: string;
  about: string;
  /** At the network; null without one. */
  picture_url: string | null;
}

export interface BusinessProfile {
  jid: Jid;
  address: string;
  description: string;
  email: string;
  categories: { id: string; name: string }[];
  business_hours_timezone: string;
  business_hours: { day_of_week: string; mode: string; open_time: string; close_time: string }[];
}

/** A template as the network tells of it, in its words. */
export interface ReviewedTemplate {
  id: string;
  name: string;
  language: string;
  category: string;
  status: string;
  rejected_reason: string | null;
  quality: string | null;
  components: Record<string, unknown>[];
}

/** A product of a catalog; `image_url` is the network's own, and users never see it. */
export interface Product {
  id: string;
  name: string;
  description: string;
  retailer_id: string;
  url: string;
  /** In the currency's smallest unit. */
  price: number;
  currency: string;
  is_hidden: boolean;
  review_status: string;
  image_url: string;
}
