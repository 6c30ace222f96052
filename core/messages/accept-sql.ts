import type { QueryConfig } from 'pg';
import type { CompanyHold } from '../access/company-hold.ts';
import type { NewMessage } from '../content/new-message.ts';
import type { InstanceSettings } from '../instances/settings.ts';
import { ADVISORY_LOCKS } from '../platform/advisory-locks.ts';
import type { Sql } from '../platform/db.ts';
import type { ContactState } from './guard.ts';
import type { SendCommand } from './send-command.ts';

/** What the database knows that decides a batch of sends, read under the instances' locks. */
export interface AcceptKnowledge {
  instances: Map<string, InstanceRow>;
  keys: Map<string, EarlierSend>;
  /** When the content was first sent to the chat within the window, by content id. */
  contents: Map<string, string>;
  /** By `${instanceId} ${chatJid}`. */
  contacts: Map<string, ContactState>;
  contactRows: Map<string, ContactRow>;
  quoted: Map<string, { instance_id: string; network_id: string | null }>;
}

export interface InstanceRow {
  id: string;
  company_id: number;
  shard: number;
  state: string;
  /** Why its company may not use it, or null. */
  hold: CompanyHold | null;
  /** What its network cannot do. */
  lacks: string[] | null;
  settings: Partial<InstanceSettings>;
  /** It has a task above the seq that was asked for. */
  isBusy: boolean;
}

export interface EarlierSend {
  status: 'queued' | 'sent' | 'failed';
  messageId: string;
  taskId: string;
  bodyHash: string;
  createdAtMs: number;
}

interface ContactRow {
  instanceId: string;
  chatJid: string;
  companyId: number;
  state: ContactState;
  /** It has a row already. */
  known: boolean;
}

/** A task to write, and the message it sends; a send's task id is also the id of its message. */
export interface NewTask {
  taskId: string;
  command: SendCommand;
  message: NewMessage;
  companyId: number;
  shard: number;
  /** Of the instance, as they are at the accept. */
  settings: InstanceSettings;
  keyId: string;
  bodyHash: string;
  quotedNetworkId: string | undefined;
  /** Set when the content is the first of its kind to this chat within the window. */
  contentId?: string;
}

/** What a batch writes. */
export interface AcceptRows {
  sends: NewTask[];
  /** Deletes and edits: tasks without a message of their own. */
  changes: NewTask[];
  /** Keys past their lifetime that are used again. */
  expiredKeys: string[];
  contacts: ContactRow[];
  audits: {
    companyId: number;
    userId: number;
    tokenId: number | null;
    action: string;
    instanceId: string;
    detail: Record<string, unknown>;
    traceId: string;
  }[];
}

/**
 * The statement that holds these instances' accept order until the transaction ends: their outbox rows and
 * their contacts' counts are written by one transaction at a time. Advisory locks, since a row lock would
 * write.
 */
export function acceptOrderLocks(instanceIds: Iterable<string>): QueryConfig {
  const keys = new Set<number>();
  for (const id of instanceIds) keys.add(Number.parseInt(id.slice(-8), 16) | 0);
  return {
    name: 'accept-order-locks',
    text: 'SELECT pg_advisory_xact_lock($1, key) FROM unnest($2::integer[]) AS key',
    // Ascending everywhere: two transactions that share instances never wait for each other in a ring.
    values: [ADVISORY_LOCKS.acceptOrder, [...keys].sort((a, b) => a - b)],
  };
}

/** Takes the same locks within a transaction. */
export async function lockAcceptOrder(client: Sql, instanceIds: Iterable<string>): Promise<void> {
  await client.query(acceptOrderLocks(instanceIds));
}
