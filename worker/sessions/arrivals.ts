import { isGroupJid, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { LeaseLost } from '@posthorn/core/instances/lock-leases.ts';
import { RECEIVED_BATCH_MAX, type Received } from '@posthorn/core/messages/record-inbound.ts';
import type {
  HistoryBatch,
  InboundMessage,
  NetworkReceipt,
  SessionSink,
} from '@posthorn/core/network/driver.ts';
import { hashKey } from '@posthorn/core/platform/hashes.ts';
import { messageIdOf } from '@posthorn/core/platform/ids.ts';
import { recordStatusFacts, type StatusFact } from '@posthorn/core/status/record-status.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';
import { type Care, createBoundedTries, type Pipeline } from './bounded-tries.ts';
import { createEarlyChanges, type EarlyChanges } from './early-changes.ts';
import { createEarlyReceipts, type EarlyReceipts } from './early-receipts.ts';
import { limitConcurrency } from './limit-concurrency.ts';
import { split } from './lists.ts';
import { recordChanges, recordEarlyChanges } from './record-changes.ts';
import { recordFacts } from './record-facts.ts';
import { recordHistory } from './record-history.ts';
import { sanitizeItems, sanitizeMessage, sanitizeReceipt } from './sanitize.ts';
import { createStepChain } from './step-chain.ts';
import { createInboundStorer, type StoredInbound } from './store-inbound.ts';
import { createPresenceTeller } from './tell-presence.ts';

/** Media downloads of one instance that run at the same time. */
const DOWNLOADS = 4;

/** Records what a session receives. Rejects if an item could not be recorded. */
export type Arrivals = Pick<
  SessionSink,
  'receipts' | 'inbound' | 'changes' | 'facts' | 'history' | 'presence'
>;

/** State shared by the functions of one instance's arrivals. */
interface ArrivalsPipeline {
  deps: ArrivalsDeps;
  scope: ArrivalsScope;
  store: ReturnType<typeof createInboundStorer>;
  /** Records what must not overtake each other, one after the other. */
  inOrder(record: () => Promise<void>): Promise<void>;
  early: EarlyReceipts;
  earlyChanges: EarlyChanges;
}

/**
 * Records what a session receives: receipts, messages, statuses and changes. If that fails, the driver does
 * not acknowledge, and the network sends the item again, possibly to a new owner. A bad item affects only
 * itself (`createBoundedTries`).
 */
export function createArrivals(deps: ArrivalsDeps, scope: ArrivalsScope): Arrivals {
  const { companyId, instanceId, lease } = scope;
  const bounded = createBoundedTries(deps, { companyId, instanceId, afterCrash: lease.afterCrash ?? false });
  /** The driver's calls for one chat come one at a time; facts learnt from API answers arrive between them. */
  const order = createStepChain(() => undefined);
  const store = createInboundStorer(deps, scope);
  const download = limitConcurrency(DOWNLOADS);
  const context: ArrivalsPipeline = {
    deps,
    scope,
    store: (message, care) => (message.media ? download(() => store(message, care)) : store(message, care)),
    inOrder: (record) => order.tryStep('inbound', record),
    early: createEarlyReceipts(),
    earlyChanges: createEarlyChanges(),
  };

  function pipeline<T>(
    kind: string,
    named: (item: T) => readonly unknown[],
    record: (context: ArrivalsPipeline, items: readonly T[], care: Care) => Promise<void>,
  ): (items: readonly T[]) => Promise<void> {
    const subjectOf = (item: T) =>
      hashKey(instanceId, kind, ...named(item).map((part) => (typeof part === 'object' ? '' : String(part))));
    const through: Pipeline<T> = {
      kind,
      subjectOf,
      record: (items, care) => record(context, items, care),
    };
    return async (items) => {
      try {
        await bounded.record(through, items);
      } catch (err) {
        if (err instanceof LeaseLost) deps.onLeaseLost(lease);
        throw err;
      }
    };
  }

  function inOrder<T>(what: string, record: (items: readonly T[]) => Promise<void>): typeof record {
    return (items) => order.tryStep(what, () => record(items));
  }

  const history = inOrder(
    'history',
    pipeline<HistoryBatch>(
      'history',
      ({ progress, isLast, chats, messages }) => [
        progress,
        isLast,
        chats.length,
        messages.length,
        messages[0]?.networkId,
        messages.at(-1)?.networkId,
      ],
      async (context, batches, care) => {
        for (const batch of batches) await recordEarly(context, await recordHistory(context, batch, care));
      },
    ),
  );

  return {
    receipts: pipeline('receipt', ({ kind, networkId, by }) => [kind, networkId, by], recordReceipts),
    inbound: pipeline('message', ({ chat, networkId }) => [chat, networkId], recordMessages),
    changes: inOrder(
      'changes',
      pipeline(
        'change',
        ({ kind, networkId, changeId, from, at }) => [kind, networkId, from, changeId ?? Number(at)],
        recordChanges,
      ),
    ),
    facts: inOrder(
      'facts',
      pipeline('fact', (fact) => [fact.kind, Number(fact.at), JSON.stringify(fact)], recordFacts),
    ),
    history: (batch) => history([batch]),
    presence: createPresenceTeller(deps, scope),
  };
}

async function recordReceipts(
  context: ArrivalsPipeline,
  items: readonly NetworkReceipt[],
  care: Care,
): Promise<void> {
  if (care === 'envelope') return;
  const { deps, scope } = context;
  const [views, progress] = split(sanitizeItems(context, 'receipt', items, sanitizeReceipt), isView);
  await Promise.all([
    recordStatusFacts(deps, scope, views.map(viewOf)),
    ...progress.map((receipt) => recordReceipt(context, receipt)),
  ]);
}

/**
 * Holds the receipt if its message is not stored yet. If the message was recorded and is gone since, nobody
 * is notified.
 */
async function recordReceipt(context: ArrivalsPipeline, receipt: NetworkReceipt): Promise<void> {
  const isRecorded = await recordIfKnown(context, receipt);
  if (!isRecorded && context.early.hold(receipt)) await recordIfKnown(context, receipt);
}

async function recordIfKnown(context: ArrivalsPipeline, receipt: NetworkReceipt): Promise<boolean> {
  const { deps, scope } = context;
  const { instanceId, lease } = scope;
  const { networkId, kind, by, at, reason, assignedId } = receipt;
  let isKnown = true;
  const onUnknown = () => {
    isKnown = false;
  };
  const named = { instanceId, networkId, onUnknown };
  const told = { to: kind, by, at, reason, assignedId, isToldByNetwork: true };
  await deps.recorder.push({ messageId: messageIdOf(networkId), named, lease, ...told });
  return isKnown;
}

async function recordMessages(
  context: ArrivalsPipeline,
  items: readonly InboundMessage[],
  care: Care,
): Promise<void> {
  const { scope } = context;
  const { companyId, instanceId } = scope;
  const settings = await scope.loadSettings();
  const readable = sanitizeItems(context, 'message', items, sanitizeMessage);
  const heeded = readable.filter(({ chat }) => !(settings.ignore_groups && isGroupJid(chat)));
  const stored = await Promise.all(heeded.map((message) => context.store(message, care)));
  const received = stored
    .filter(isMessage)
    .map(({ message: { chat, from, media: _, ...message }, ...kept }): Received => {
      return {
        ...message,
        ...kept,
        ...{ companyId, instanceId, chatJid: chat, senderJid: from },
        type: chat === STATUS_BROADCAST ? `status_${STORIES.get(message.type)}` : message.type,
        isRead: settings.auto_read,
      };
    });
  await context.inOrder(() => recordStored(context, stored, received));
  const readNow = heeded.filter(({ chat, fromMe }) => chat !== STATUS_BROADCAST && !fromMe);
  // The next items do not wait for the network's answer.
  if (settings.auto_read) void markRead(context.deps, scope, readNow);
}

async function recordStored(
  context: ArrivalsPipeline,
  stored: readonly StoredInbound[],
  received: readonly Received[],
): Promise<void> {
  const { deps, scope } = context;
  const { lease } = scope;
  // One after the other: messages behind a refused one must not overtake it.
  for (let at = 0; at < received.length; at += RECEIVED_BATCH_MAX) {
    await deps.inbound.push({ lease, messages: received.slice(at, at + RECEIVED_BATCH_MAX) });
  }
  await recordEarly(context, received);
  await recordStatusFacts(deps, scope, stored.flatMap(statusFactOf));
}

/** Records what came before these messages, which have just been stored. */
async function recordEarly(
  context: ArrivalsPipeline,
  stored: readonly { networkId: string; fromMe?: boolean | undefined }[],
): Promise<void> {
  for (const { networkId } of stored.filter(({ fromMe }) => fromMe)) {
    await Promise.all(context.early.of(networkId).map((receipt) => recordReceipt(context, receipt)));
    context.early.forget(networkId);
  }
  await recordEarlyChanges(context, stored);
}

/** Opening a status is reported as a view, not as a step of a message (STA-11). */
function isView({ chat, kind }: NetworkReceipt): boolean {
  return chat === STATUS_BROADCAST && (kind === 'read' || kind === 'played');
}

function viewOf({ networkId, kind, by, at }: NetworkReceipt): StatusFact {
  return { kind: 'viewed', statusId: networkId, from: by, receipt: kind as 'read' | 'played', at };
}

/**
 * Statuses of others and reactions to statuses are not chat messages. Our own statuses are messages we sent.
 */
function isMessage({ message: { chat, type, fromMe, statusId } }: StoredInbound): boolean {
  if (chat === STATUS_BROADCAST) return fromMe === true && STORIES.has(type);
  return !(type === 'reaction' && statusId);
}

type StoryType = Extract<StatusFact, { kind: 'posted' }>['type'];

/** The types of statuses, by the family of the message: a GIF and a round video are videos, a sticker is an image (STA-7). */
const STORIES: ReadonlyMap<string, StoryType> = new Map([
  ['text', 'text'],
  ['image', 'image'],
  ['sticker', 'image'],
  ['video', 'video'],
  ['gif', 'video'],
  ['ptv', 'video'],
  ['audio', 'audio'],
]);

function statusFactOf({ message, mediaId }: StoredInbound): StatusFact[] {
  const { from, at, content, type, pushName, networkId: messageId, statusId } = message;
  if (message.fromMe) return [];
  const words = textOf(content.text ?? content.caption);
  // A reaction comes in the chat of the status or in that of its author.
  if (message.chat === STATUS_BROADCAST && type !== 'reaction') {
    const story = STORIES.get(type);
    if (!story) return [];
    return [{ kind: 'posted', statusId: messageId, from, at, type: story, words, mediaId }];
  }
  if (!statusId) return [];
  if (type === 'reaction') {
    return [{ kind: 'reaction', statusId, from, at, messageId, pushName, emoji: textOf(content.emoji) }];
  }
  return [{ kind: 'reply', statusId, from, at, messageId, pushName, replyType: type, words }];
}

/** The network may send any value where a text belongs. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Best effort: a message that stays unread at the network is recorded anyway. */
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
