import { isGroupJid, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { type Lease, LeaseLost } from '@posthorn/core/instances/hold-leases.ts';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import { type InboundMediaStore, MediaUnusable } from '@posthorn/core/media/media-port.ts';
import type { InboundRecorder } from '@posthorn/core/messages/record-inbound.ts';
import { recordNetworkChanges } from '@posthorn/core/messages/record-network-change.ts';
import type { ProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import type { Bus } from '@posthorn/core/platform/bus.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import { messageIdOf } from '@posthorn/core/platform/ids.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import { recordStatusFacts, type StatusFact } from '@posthorn/core/status/record-status.ts';
import {
  type InboundMessage,
  type NetworkReceipt,
  type NetworkSession,
  SendRefused,
  type SessionSink,
} from '@posthorn/network/driver.ts';

export interface ArrivalsDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  log: Log;
  recorder: ProgressRecorder;
  inbound: InboundRecorder;
  /** Null where media is not stored at all. */
  inboundMedia: InboundMediaStore | null;
  /** Something could not be recorded, because another worker owns the shard by now: let go of it. */
  onLeaseLost(lease: Lease): void;
}

/** The instance that things arrive at; asked each time, since settings and session change. */
export interface ArrivalsScope {
  companyId: number;
  instanceId: string;
  lease: Lease;
  settings(): InstanceSettings;
  session(): NetworkSession | null;
}

/** Media of one batch that is fetched at the same time. */
const DOWNLOADS = 4;

/**
 * Records what a session hears: receipts, messages, statuses and changes. Rejects when it could not: the
 * driver does not acknowledge then, and the network tells again, a new owner if there is one.
 */
export function createArrivals(
  deps: ArrivalsDeps,
  scope: ArrivalsScope,
): Pick<SessionSink, 'receipts' | 'inbound' | 'changes'> {
  async function store(message: InboundMessage): Promise<StoredInbound> {
    const { media } = message;
    if (!media) return { message };
    const stored = scope.settings().store_media ? await storeMedia(message) : null;
    return {
      message,
      mediaId: stored?.mediaId,
      mimeType: stored?.mimeType ?? media.mimeType,
      animated: (stored?.animated ?? media.animated) || undefined,
    };
  }

  /** Null when the network does not have it any more, or it can't be stored: the message is told without it. */
  async function storeMedia({ networkId, chat, media }: InboundMessage) {
    const session = scope.session();
    if (!media || !session || !deps.inboundMedia) return null;
    try {
      return await deps.inboundMedia.store(scope, {
        key: networkId,
        remoteJid: chat,
        mimeType: media.mimeType,
        fileName: media.fileName,
        open: () => session.download(media),
      });
    } catch (err) {
      if (!(err instanceof SendRefused || err instanceof MediaUnusable)) throw err;
      deps.log.debug({ err, instance_id: scope.instanceId }, 'received media is gone');
      return null;
    }
  }

  /** Resolves when all of it is recorded. */
  async function recorded(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (err) {
      if (err instanceof LeaseLost) deps.onLeaseLost(scope.lease);
      throw err;
    }
  }

  return {
    receipts(receipts) {
      const [views, progress] = split(receipts, isView);
      const pushed = progress.flatMap(({ networkId, kind, by, at }) => {
        const messageId = messageIdOf(networkId);
        return messageId ? [deps.recorder.push({ messageId, lease: scope.lease, to: kind, by, at })] : [];
      });
      return recorded(Promise.all([recordStatusFacts(deps, scope, views.map(viewOf)), ...pushed]));
    },

    async inbound(messages) {
      const settings = scope.settings();
      const wanted = messages.filter(({ chat }) => !(settings.ignore_groups && isGroupJid(chat)));
      const stored = await mapBounded(wanted, DOWNLOADS, store);
      const { companyId, instanceId, lease } = scope;
      const pushed = stored
        .filter(isMessage)
        .map(({ message: { chat, from, ...message }, mediaId, mimeType, animated }) =>
          deps.inbound.push({
            ...message,
            companyId,
            instanceId,
            lease,
            chatJid: chat,
            senderJid: from,
            mediaId,
            mimeType,
            animated,
          }),
        );
      await recorded(Promise.all(pushed));
      await recorded(recordStatusFacts(deps, scope, stored.flatMap(statusFactOf)));
      if (settings.auto_read) {
        await markRead(
          deps,
          scope,
          wanted.filter(({ chat }) => chat !== STATUS_BROADCAST),
        );
      }
    },

    async changes(changes) {
      const [statuses, messages] = split(changes, ({ chat }) => chat === STATUS_BROADCAST);
      if (messages.length > 0) await recorded(recordNetworkChanges(deps, scope, messages));
      const deleted = statuses.flatMap(({ kind, networkId, from, at }): StatusFact[] =>
        kind === 'deleted' ? [{ kind, statusId: networkId, from, at }] : [],
      );
      await recorded(recordStatusFacts(deps, scope, deleted));
    },
  };
}

interface StoredInbound {
  message: InboundMessage;
  mediaId?: string | undefined;
  mimeType?: string | undefined;
  animated?: boolean | undefined;
}

/** Opening a status is told as a view, not as a step of a message (spec 6.2). */
function isView({ chat, kind }: NetworkReceipt): boolean {
  return chat === STATUS_BROADCAST && kind !== 'delivered';
}

function viewOf({ networkId, kind, by, at }: NetworkReceipt): StatusFact {
  return { kind: 'viewed', statusId: networkId, from: by, receipt: kind as 'read' | 'played', at };
}

/** Statuses, and reactions to ours, are no messages of a chat. */
function isMessage({ message }: StoredInbound): boolean {
  return message.chat !== STATUS_BROADCAST && !(message.type === 'reaction' && message.statusId);
}

const STORIES: ReadonlySet<string> = new Set(['text', 'image', 'video', 'audio']);

function statusFactOf({ message, mediaId }: StoredInbound): StatusFact[] {
  const { from, at, content, type, pushName, networkId, statusId } = message;
  const words = String(content.text ?? content.caption ?? '');
  if (message.chat === STATUS_BROADCAST) {
    if (!STORIES.has(type)) return [];
    const story = type as Extract<StatusFact, { kind: 'posted' }>['type'];
    return [{ kind: 'posted', statusId: networkId, from, at, type: story, words, mediaId }];
  }
  if (!statusId) return [];
  if (type === 'reaction') {
    return [{ kind: 'reaction', statusId, from, at, pushName, emoji: String(content.emoji ?? '') }];
  }
  return [{ kind: 'reply', statusId, from, at, pushName, replyId: networkId, replyType: type, words }];
}

/** Best effort: a message that stays unread at the network is recorded all the same. */
async function markRead(
  deps: ArrivalsDeps,
  scope: ArrivalsScope,
  messages: readonly InboundMessage[],
): Promise<void> {
  const session = scope.session();
  if (!session) return;
  for (const [chat, received] of Map.groupBy(messages, (message) => message.chat)) {
    const ids = received.map((message) => message.networkId);
    await session
      .markRead(chat, ids)
      .catch((err) => deps.log.debug({ err, instance_id: scope.instanceId }, 'marking as read failed'));
  }
}

function split<T>(items: readonly T[], first: (item: T) => boolean): [T[], T[]] {
  const matching: T[] = [];
  const others: T[] = [];
  for (const item of items) (first(item) ? matching : others).push(item);
  return [matching, others];
}

/** The results in order, `limit` at work at a time. */
async function mapBounded<In, Out>(
  items: readonly In[],
  limit: number,
  work: (item: In) => Promise<Out>,
): Promise<Out[]> {
  const results = new Array<Out>(items.length);
  let next = 0;
  const runner = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i]!);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, runner));
  return results;
}
