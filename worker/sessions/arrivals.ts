import { ApiError } from '@posthorn/contract/api-error.ts';
import { isGroupJid, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { type Lease, LeaseLost } from '@posthorn/core/instances/hold-leases.ts';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import { type InboundMediaStore, MediaUnusable } from '@posthorn/core/media/media-port.ts';
import {
  type InboundRecorder,
  RECEIVED_BATCH_MAX,
  type Received,
} from '@posthorn/core/messages/record-inbound.ts';
import { recordNetworkChanges } from '@posthorn/core/messages/record-network-change.ts';
import type { ProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import type { WorkTries } from '@posthorn/core/messages/work-tries.ts';
import type { Bus } from '@posthorn/core/platform/bus.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import { hashKey } from '@posthorn/core/platform/hashes.ts';
import { messageIdOf } from '@posthorn/core/platform/ids.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import { isStorageTrouble } from '@posthorn/core/platform/storage/storage.ts';
import { recordStatusFacts, type StatusFact } from '@posthorn/core/status/record-status.ts';
import {
  type InboundMessage,
  type NetworkChange,
  type NetworkReceipt,
  type NetworkSession,
  SendRefused,
  type SessionSink,
} from '@posthorn/network/driver.ts';
import { type Care, createBoundedTries, OurTrouble, type Road } from './bounded-tries.ts';
import { mapBounded, split } from './lists.ts';
import { type Tamed, tameChange, tameMessage, tameReceipt } from './tame.ts';

export interface ArrivalsDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  log: Log;
  recorder: ProgressRecorder;
  inbound: InboundRecorder;
  tries: WorkTries;
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
/** Messages wait so long for a storage that takes nothing; then they are told without their media. */
const STORAGE_PATIENCE_MS = 10 * 60_000;

/**
 * Records what a session hears: receipts, messages, statuses and changes. Rejects when it could not: the
 * driver does not acknowledge then, and the network tells again, a new owner if there is one. Whatever is
 * wrong with one of them ends with that one (`createBoundedTries`).
 */
export function createArrivals(
  deps: ArrivalsDeps,
  scope: ArrivalsScope,
): Pick<SessionSink, 'receipts' | 'inbound' | 'changes'> {
  const { companyId, instanceId, lease } = scope;
  const bounded = createBoundedTries(deps, { companyId, instanceId, afterCrash: lease.afterCrash ?? false });
  /** When our storage began to fail, by the process's own clock. */
  let storageFailsSinceMs: number | null = null;

  async function store(message: Tamed, care: Care): Promise<StoredInbound> {
    if (care === 'husk')
      return { message: { ...message, type: 'unknown', content: {}, incomplete: 'content_unreadable' } };
    const { media } = message;
    if (!media) return { message, incomplete: message.incomplete };
    const kept = await keep(message, care);
    return {
      message,
      mediaId: kept.mediaId,
      mimeType: kept.mimeType ?? media.mimeType,
      animated: (kept.animated ?? media.animated) || undefined,
      incomplete: kept.missing ?? message.incomplete,
    };
  }

  /** Without an id when it is not to be stored, or can't be: the message is told without it. */
  async function keep(message: Tamed, care: Care): Promise<Kept> {
    if (!scope.settings().store_media || !deps.inboundMedia) return {};
    if (care !== 'whole') return { missing: 'media_unavailable' };
    const session = scope.session();
    if (!session) throw new OurTrouble('the session has ended');
    const { networkId: key, chat: remoteJid } = message;
    const media = message.media!;
    try {
      const { mimeType, fileName } = media;
      const open = () => session.download(media);
      const kept = await deps.inboundMedia.store(scope, { key, remoteJid, mimeType, fileName, open });
      storageFailsSinceMs = null;
      return kept;
    } catch (err) {
      const missing = missingBecause(err);
      if (missing === null) throw err;
      deps.log.debug({ err, instance_id: instanceId }, 'received media is not kept');
      return { missing };
    }
  }

  /** Why media will never be had; null when it is to be tried again. */
  function missingBecause(err: unknown): string | null {
    if (err instanceof SendRefused || err instanceof MediaUnusable) {
      return err.reason.startsWith('media_') ? err.reason : 'media_unavailable';
    }
    if (err instanceof ApiError && err.code === 'PLAN_LIMIT_REACHED') return 'media_storage_full';
    if (!isStorageTrouble(err)) return null;
    const nowMs = performance.now();
    storageFailsSinceMs ??= nowMs;
    if (nowMs - storageFailsSinceMs < STORAGE_PATIENCE_MS) {
      throw new OurTrouble('received media could not be stored', { cause: err });
    }
    return 'media_not_stored';
  }

  /** What can be stored of these; what cannot even be named is told to the log alone. */
  function tamed<T, Out>(kind: string, items: readonly T[], tame: (item: T, now: Date) => Out | null): Out[] {
    const now = deps.clock.now();
    const told = items.map((item) => tame(item, now)).filter((item) => item !== null);
    if (told.length < items.length) {
      const refused = items.length - told.length;
      deps.log.warn({ kind, refused, instance_id: instanceId }, 'what arrived names nothing and was refused');
    }
    return told;
  }

  function road<T>(
    kind: string,
    named: (item: T) => readonly unknown[],
    record: (items: readonly T[], care: Care) => Promise<void>,
  ): Road<T> {
    const subjectOf = (item: T) =>
      hashKey(instanceId, kind, ...named(item).map((part) => (typeof part === 'object' ? '' : String(part))));
    return { kind, subjectOf, record };
  }

  const receiptRoad = road<NetworkReceipt>(
    'receipt',
    ({ kind, networkId, by }) => [kind, networkId, by],
    async (items, care) => {
      if (care === 'husk') return;
      const [views, progress] = split(tamed('receipt', items, tameReceipt), isView);
      await Promise.all([
        recordStatusFacts(deps, scope, views.map(viewOf)),
        ...progress.flatMap(({ networkId, kind, by, at }) => {
          const messageId = messageIdOf(networkId);
          return messageId ? [deps.recorder.push({ messageId, lease, to: kind, by, at })] : [];
        }),
      ]);
    },
  );

  const messageRoad = road<InboundMessage>(
    'message',
    ({ networkId }) => [networkId],
    async (items, care) => {
      const settings = scope.settings();
      const readable = tamed('message', items, tameMessage);
      const wanted = readable.filter(({ chat }) => !(settings.ignore_groups && isGroupJid(chat)));
      const stored = await mapBounded(wanted, DOWNLOADS, (message) => store(message, care));
      const received = stored
        .filter(isMessage)
        .map(({ message: { chat, from, media: _, ...message }, ...kept }): Received => {
          return { ...message, ...kept, companyId, instanceId, chatJid: chat, senderJid: from };
        });
      // One after the other: what follows a message that is refused must not overtake it.
      for (let at = 0; at < received.length; at += RECEIVED_BATCH_MAX) {
        await deps.inbound.push({ lease, messages: received.slice(at, at + RECEIVED_BATCH_MAX) });
      }
      await recordStatusFacts(deps, scope, stored.flatMap(statusFactOf));
      if (settings.auto_read) {
        await markRead(
          deps,
          scope,
          wanted.filter(({ chat }) => chat !== STATUS_BROADCAST),
        );
      }
    },
  );

  const changeRoad = road<NetworkChange>(
    'change',
    ({ kind, networkId, from, at }) => [kind, networkId, from, Number(at)],
    async (items, care) => {
      if (care === 'husk') return;
      const [statuses, messages] = split(
        tamed('change', items, tameChange),
        ({ chat }) => chat === STATUS_BROADCAST,
      );
      if (messages.length > 0) await recordNetworkChanges(deps, scope, messages);
      const deleted = statuses.flatMap(({ kind, networkId, from, at }): StatusFact[] =>
        kind === 'deleted' ? [{ kind, statusId: networkId, from, at }] : [],
      );
      await recordStatusFacts(deps, scope, deleted);
    },
  );

  /** Resolves when all of it is recorded. */
  async function recorded(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (err) {
      if (err instanceof LeaseLost) deps.onLeaseLost(scope.lease);
      throw err;
    }
  }

  return {
    receipts: (receipts) => recorded(bounded.record(receiptRoad, receipts)),
    inbound: (messages) => recorded(bounded.record(messageRoad, messages)),
    changes: (changes) => recorded(bounded.record(changeRoad, changes)),
  };
}

/** What became of a message's media. */
interface Kept {
  mediaId?: string;
  mimeType?: string;
  animated?: boolean;
  /** Why there is none. */
  missing?: string;
}

interface StoredInbound {
  message: Tamed;
  mediaId?: string | undefined;
  mimeType?: string | undefined;
  animated?: boolean | undefined;
  /** Why it is not whole. */
  incomplete?: string | undefined;
}

/** Opening a status is told as a view, not as a step of a message (STA-11). */
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
  const words = textOf(content.text ?? content.caption);
  if (message.chat === STATUS_BROADCAST) {
    if (!STORIES.has(type)) return [];
    const story = type as Extract<StatusFact, { kind: 'posted' }>['type'];
    return [{ kind: 'posted', statusId: networkId, from, at, type: story, words, mediaId }];
  }
  if (!statusId) return [];
  if (type === 'reaction') {
    return [{ kind: 'reaction', statusId, from, at, pushName, emoji: textOf(content.emoji) }];
  }
  return [{ kind: 'reply', statusId, from, at, pushName, replyId: networkId, replyType: type, words }];
}

/** Anything may stand where words should. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
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
