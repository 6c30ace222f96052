import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { IDEMPOTENCY_KEY_LIFETIME_S } from '@posthorn/contract/limits.ts';
import { type CompanyHold, holdRefusal } from '../access/company-hold.ts';
import { mayReach } from '../access/instance-scope.ts';
import { acceptOrderLocks } from '../guard/accept-order.ts';
import {
  afterOutbound,
  type ContactState,
  checkConsecutive,
  checksDuplicates,
  comparesContent,
  isContact,
  newContact,
} from '../guard/guard.ts';
import { abilityRefusal } from '../instances/driver-abilities.ts';
import { instanceRefusal } from '../instances/instance-refusal.ts';
import { settingsOf } from '../instances/settings.ts';
import type { Bus } from '../platform/broker/bus.ts';
import { type Coalescer, createCoalescer } from '../platform/database/coalesce.ts';
import { isUnavailable } from '../platform/database/database-errors.ts';
import type { Db } from '../platform/database/db.ts';
import { DatabaseWait } from '../platform/database/in-time.ts';
import { canonicalJson, hashKey } from '../platform/hashes.ts';
import { isUuid, networkIdOf, newId, plainIdOf, sentIdOf } from '../platform/ids.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Trace } from '../platform/tracing/trace.ts';
import { type AcceptKnowledge, type AcceptRows, readForAccept } from './accept-sql.ts';
import { acceptedFor, idleQueues } from './accepted-pages.ts';
import { reachRefusal } from './conversation-window.ts';
import { forcedAudit } from './forced-audit.ts';
import { underKnownAddresses } from './known-addresses.ts';
import type { AcceptedFor, LocalQueues } from './local-queues.ts';
import type { AcceptedSend, SendCommand } from './send-command.ts';
import { type Content, contentOf, countContent, sentBefore } from './sent-contents.ts';
import { traceAccept } from './trace-accept.ts';
import { writeAccepted } from './write-accepted.ts';

export interface Acceptor extends Pick<Coalescer<SendCommand, AcceptedSend>, 'idle' | 'waitMs'> {
  /**
   * Accepts one send durably: when it resolves, the message will be sent. Throws ApiError: 404
   * INSTANCE_NOT_FOUND, MESSAGE_NOT_FOUND (quoted UUID); 409 INSTANCE_NOT_CONNECTED, INSTANCE_BANNED,
   * INSTANCE_HARD_PAUSED, PASSIVE_MODE_ENABLED, CONVERSATION_WINDOW_CLOSED, BLOCKED_*; 403 COMPANY_SUSPENDED; 501 NOT_IMPLEMENTED; 422
   * IDEMPOTENCY_KEY_REUSED; 503 SERVICE_UNAVAILABLE when the database can't say in time: the key tells the outcome.
   */
  acceptSend(command: SendCommand): Promise<AcceptedSend>;
}

export interface AcceptDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  /** Absent: there are none in this process. */
  queues?: LocalQueues | undefined;
  /** Absent: nobody listens. */
  trace?: Trace | undefined;
}

/**
 * The accept of every asynchronous send. Concurrent accepts share one transaction: it takes the
 * instances' locks, reads what decides, decides in the order of each company's arrival, and writes all rows with one
 * statement. The lock makes the guard's counts exact across processes and an instance's outbox order
 * the same as its commit order (docs/decisions/0002-coalesced-accept.md has what was measured).
 */
export function createAcceptor(deps: AcceptDeps): Acceptor {
  const coalescer = createCoalescer<SendCommand, AcceptedSend>({
    maxBatch: 128,
    sharedBy: ({ principal }) => principal.companyId,
    run: (batch) => acceptBatch(deps, batch),
  });
  return {
    async acceptSend(command) {
      const sinceMs = performance.now();
      const wait = command.wait ?? new DatabaseWait();
      try {
        const accepted = await wait.for(coalescer.push(command, wait.untilMs()));
        if (deps.trace) traceAccept(deps.trace, command, accepted, performance.now() - sinceMs);
        return accepted;
      } catch (cause) {
        if (isUnavailable(cause)) throw apiError('SERVICE_UNAVAILABLE', { cause });
        throw cause;
      }
    },
    idle: () => coalescer.idle(),
    waitMs: () => coalescer.waitMs(),
  };
}

async function acceptBatch(deps: AcceptDeps, batch: SendCommand[]): Promise<(AcceptedSend | Error)[]> {
  const now = deps.clock.now();
  const knownAtMs = performance.now();
  const locks = acceptOrderLocks(batch.map((command) => command.instanceId));
  const idleAt = idleQueues(deps.queues, batch);
  const { outcomes, rows, seqs } = await deps.db.transaction(async (client) => {
    // Under the locks: before them a chat could move to another address, and its count with it.
    const sends = (await underKnownAddresses(client, batch)).map((command) => identify(command));
    const known = await readForAccept(client, {
      instanceIds: sends.map((send) => send.command.instanceId),
      keyIds: sends.map((send) => send.keyId),
      contentIds: sends.flatMap((send) => (send.content ? [send.content.id, ...send.content.otherIds] : [])),
      contacts: sends.flatMap(({ command: { instanceId, message } }) =>
        message ? [{ instanceId, chatJid: message.chatJid }] : [],
      ),
      quotedIds: sends.flatMap((send) => (send.quotedId ? [send.quotedId] : [])),
      now,
      idleAt,
    });
    const decision: AcceptRows = {
      sends: [],
      changes: [],
      expiredKeys: [],
      unsentContents: [],
      contacts: [],
      audits: [],
    };
    const decided = sends.map((send) => decide(send, known, decision, now));
    for (const { id, isBusy } of known.instances.values()) if (isBusy) idleAt.delete(id);
    const written = await writeAccepted(client, decision, { now, wantsSeqs: idleAt.size > 0 });
    return { outcomes: decided, rows: decision, seqs: written };
  }, locks);
  if (rows.sends.length + rows.changes.length > 0)
    tellOfWork(deps, acceptedFor(rows, { idleAt, seqs: await seqs(), now, knownAtMs }));
  return outcomes;
}

function tellOfWork({ queues, bus }: AcceptDeps, accepted: readonly AcceptedFor[]): void {
  if (!queues?.onAccepted(accepted)) bus.notify('outbox');
}

/** A send command, and the ids by which the database knows what it repeats or refers to. */
interface IdentifiedSend {
  command: SendCommand;
  keyId: string;
  bodyHash: string;
  /** Null for a send without a message, which is refused or a replay. */
  content: Content | null;
  /** A quoted service UUID, to be looked up; null for a hex id or none. */
  quotedId: string | null;
}

function identify(command: SendCommand): IdentifiedSend {
  const { message, instanceId } = command;
  const quoted = message?.quotedId?.toLowerCase();
  return {
    command,
    keyId: hashKey(instanceId, command.keyScope ?? command.operation, command.idempotencyKey),
    bodyHash: hashKey(canonicalJson(command.body)),
    content: contentOf(command),
    quotedId: quoted && isUuid(quoted) ? quoted : null,
  };
}

/** Decides one send, after all that arrived before it; what it changes is written into `known` and `rows`. */
function decide(
  send: IdentifiedSend,
  known: AcceptKnowledge,
  rows: AcceptRows,
  now: Date,
): AcceptedSend | ApiError {
  const { command } = send;
  const instance = known.instances.get(command.instanceId);
  // A foreign instance answers like a missing one. A superadmin works on any company's.
  if (!instance || !mayReach(command.principal, instance.company_id)) return apiError('INSTANCE_NOT_FOUND');

  const earlier = known.keys.get(send.keyId);
  const expired = earlier && now.getTime() - earlier.createdAtMs >= IDEMPOTENCY_KEY_LIFETIME_S * 1000;
  if (earlier && !expired) {
    if (earlier.bodyHash !== send.bodyHash) return apiError('IDEMPOTENCY_KEY_REUSED');
    return { status: earlier.status, messageId: earlier.messageId, taskId: earlier.taskId, replayed: true };
  }

  const unfit = abilityRefusal(instance.lacks, command.operation) ?? stateRefusal(instance);
  if (unfit) return unfit;
  if (command.refusal) return command.refusal;
  const { message } = command;
  const unreachable = reachRefusal(instance.lacks, known.openChats, { ...command, chatJid: message.chatJid });
  if (unreachable) return unreachable;
  const quotedNetworkId = quotedIdOf(send, known);
  if (quotedNetworkId === null) return apiError('MESSAGE_NOT_FOUND');

  const settings = settingsOf(instance.settings);
  const contactKey = `${command.instanceId} ${message.chatJid}`;
  const contact = known.contacts.get(contactKey) ?? newContact(now.getTime());
  const guarded = { operation: command.operation, chatJid: message.chatJid, content: send.content };
  const passive = settings.passive_mode_enabled ? apiError('PASSIVE_MODE_ENABLED') : null;
  const blocked = guardRefusal(guarded, known, settings, contact, now);
  const refusal = passive ?? blocked;
  if (refusal && !command.force) return refusal;

  // The task that sends a message carries the message's id: from either one the other is found.
  const taskId = command.messageId ?? newId();
  const { changes } = message;
  const accepted = { messageId: changes ?? taskId, taskId };
  if (expired) rows.expiredKeys.push(send.keyId);
  const contentId = comparesContent(command.operation) ? send.content?.id : undefined;
  const counts = contentId !== undefined && countContent(contentId, known, rows, now);
  rows[changes === undefined ? 'sends' : 'changes'].push({
    taskId,
    command,
    message,
    companyId: instance.company_id,
    shard: instance.shard,
    settings,
    keyId: send.keyId,
    bodyHash: send.bodyHash,
    quotedNetworkId,
    ...(counts && { contentId }),
  });
  // A send that nothing had stopped was not forced.
  const bypassed = [passive && 'passive_mode.force_send', blocked && 'anti_spam.force_send'];
  for (const action of bypassed)
    if (action) rows.audits.push(forcedAudit(command, message.chatJid, instance.company_id, action));
  if (isContact(message.chatJid)) {
    countContact(known, rows, {
      key: contactKey,
      instanceId: command.instanceId,
      chatJid: message.chatJid,
      companyId: instance.company_id,
      state: afterOutbound(contact, now.getTime()),
    });
  }
  known.keys.set(send.keyId, {
    ...accepted,
    status: 'queued',
    bodyHash: send.bodyHash,
    createdAtMs: now.getTime(),
  });
  return { ...accepted, status: 'queued', replayed: false };
}

/** The network's id of the quoted message; null when it is not one of this instance. */
function quotedIdOf(
  { command, quotedId }: IdentifiedSend,
  known: AcceptKnowledge,
): string | null | undefined {
  const given = command.message?.quotedId;
  // Ours is known by its form, in whichever case it was written; the network knows it by its upper case.
  if (!quotedId) return given && sentIdOf(given.toUpperCase()) ? given.toUpperCase() : given;
  const quoted = known.quoted.get(quotedId);
  if (!quoted || quoted.instance_id !== command.instanceId) return null;
  return plainIdOf(quoted.network_id) ?? networkIdOf(quotedId);
}

/** A suspended company is named first. A suspended subscription has disconnected its instances, so their state is named before it. */
function stateRefusal({ state, hold }: { state: string; hold: CompanyHold | null }): ApiError | undefined {
  if (hold === 'company_suspended') return holdRefusal(hold);
  return instanceRefusal(state) ?? holdRefusal(hold);
}

/** The guard's refusal of a send, or null. */
function guardRefusal(
  send: { operation: string; chatJid: string; content: IdentifiedSend['content'] },
  known: AcceptKnowledge,
  settings: ReturnType<typeof settingsOf>,
  contact: ContactState,
  now: Date,
): ApiError | null {
  const remote = { remote_jid: send.chatJid };
  if (send.content && checksDuplicates(send.operation, settings)) {
    const sent = sentBefore(known.contents, send.content);
    if (sent) {
      return apiError('BLOCKED_DUPLICATE_CONTENT', {
        fields: { ...remote, content_hash: send.content.hash, first_sent_at: sent.firstSentAt },
      });
    }
  }
  if (!isContact(send.chatJid)) return null;
  const over = checkConsecutive(contact, settings, now.getTime());
  if (!over) return null;
  const { code, ...fields } = over;
  return apiError(code, { fields: { ...remote, ...fields } });
}

function countContact(
  known: AcceptKnowledge,
  rows: AcceptRows,
  counted: { key: string; instanceId: string; chatJid: string; companyId: number; state: ContactState },
): void {
  const { key, ...contact } = counted;
  const row = known.contactRows.get(key);
  if (row) Object.assign(row.state, contact.state);
  else {
    const fresh = { ...contact, known: known.contacts.has(key) };
    known.contactRows.set(key, fresh);
    rows.contacts.push(fresh);
  }
  known.contacts.set(key, contact.state);
}
