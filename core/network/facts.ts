/** Facts about the account's own state, which a session reports beside messages. */
import type { Jid } from '@posthorn/contract/jid.ts';
import type { GroupInfo, ParticipantAction } from './actions.ts';
import type { InboundMessage, MessageTarget } from './messages.ts';

/**
 * One change of the state that all devices of the account share, or one fact that the network reports about others.
 * Facts are recorded in their order, and may come twice. Those with a `revision` are the account's own state: the
 * revision grows with each such change of the account, new pairings of it included, and the action that made a change
 * answers with the same number. The stored state of a thing is the one of its highest revision. After a pairing comes
 * the whole state, each thing with its present revision.
 */
export type NetworkFact = { at: Date } & (
  | { kind: 'label'; revision: number; labelId: string; name: string; color: number; deleted: boolean }
  | { kind: 'label_chat'; revision: number; labelId: string; chat: Jid; associated: boolean }
  | {
      kind: 'label_message';
      revision: number;
      labelId: string;
      chat: Jid;
      target: MessageTarget;
      associated: boolean;
    }
  /** Changed fields of a chat. `mutedUntil` null: not muted; Unix ms 0: without an end. */
  | {
      kind: 'chat';
      revision: number;
      chat: Jid;
      archived?: boolean;
      pinned?: boolean;
      mutedUntil?: number | null;
      read?: boolean;
    }
  /** The name under which the phone saved it; empty when it is not saved (any more). */
  | { kind: 'contact'; revision: number; jid: Jid; name: string }
  | { kind: 'blocked'; revision: number; jid: Jid; blocked: boolean }
  /** A group as it is now: each after the pairing, one that the account came into, and when the network says it whole. */
  | { kind: 'group'; group: GroupInfo }
  | {
      kind: 'group_changed';
      chat: Jid;
      by: Jid | null;
      name?: string;
      description?: string;
      announce?: boolean;
      locked?: boolean;
    }
  | {
      kind: 'group_participants';
      chat: Jid;
      by: Jid | null;
      action: ParticipantAction;
      participants: readonly Jid[];
    }
  /** The phone behind an anonymous id, or that of the account that another number leads to. */
  | { kind: 'lid'; lid: Jid; phone: string }
  /** A person without a known number has a new id from now on. */
  | { kind: 'user_id'; from: Jid; to: Jid }
  /** The result of a template's review, in the network's words. */
  | { kind: 'template'; templateId: string; name: string; language: string; change: TemplateChange }
  | { kind: 'call'; callId: string; from: Jid; video: boolean; group: Jid | null }
);

export type TemplateChange =
  | { of: 'status'; status: string; reason: string | null }
  | { of: 'quality'; quality: string; previous: string | null }
  | { of: 'category'; category: string; previous: string | null };

/** A part of what the network hands over when an account is paired. */
export interface HistoryBatch {
  chats: readonly HistoryChat[];
  contacts: readonly { jid: Jid; name: string; pushName: string }[];
  lids: readonly { lid: Jid; phone: string }[];
  /** Oldest first within a chat. */
  messages: readonly HistoryMessage[];
  /** The part with the higher position has the newer messages. 0 to 65,535. */
  position: number;
  /** 0 to 100. */
  progress: number;
  isLast: boolean;
}

export interface HistoryChat {
  chat: Jid;
  name: string;
  unreadCount: number;
  archived: boolean;
  pinned: boolean;
  /** As in {@link NetworkFact} `chat`. */
  mutedUntil: number | null;
}

/** A message of before; `status` is how far one of the account's own got. */
export type HistoryMessage = InboundMessage & {
  status?: 'sent' | 'delivered' | 'read' | 'played';
};

/** Told at the moment it happens. `lastSeen` only where the network tells it. */
export interface PresenceUpdate {
  jid: Jid;
  /** The chat in which it is typed; null for online and offline. */
  chat: Jid | null;
  state: 'available' | 'unavailable' | 'composing' | 'recording' | 'paused';
  lastSeen: Date | null;
  at: Date;
}
