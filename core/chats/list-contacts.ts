import { apiError } from '@posthorn/contract/api-error.ts';
import { phoneOf } from '@posthorn/contract/jid.ts';
import type { Contact } from '@posthorn/contract/messaging/chats.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Db } from '../platform/database/db.ts';
import { cutPage } from '../platform/database/paging.ts';
import { findChatJid } from './chat-jid.ts';
import { decodePosition, encodePosition } from './cursor.ts';

interface ContactRow {
  jid: string;
  name: string;
  push_name: string;
  blocked: boolean;
  sort_name: string;
  updated_at: Date;
}

export interface ContactFilter {
  search?: string | undefined;
  before?: string | undefined;
  limit: number;
}

const COLUMNS = 'jid, name, push_name, blocked, sort_name, updated_at';
/** Rows of others only keep revisions: of contacts whom the phone has removed and who never wrote. */
const IS_CONTACT = `(name <> '' OR push_name <> '' OR blocked)`;
/** Greater than every text that continues a prefix. */
const LAST_CHAR = `chr(${0x10ffff})`;

/** The database lowers the name, as it does for the column: JavaScript may lower some letters differently. */
const BY_NAME = `
SELECT ${COLUMNS} FROM contacts
WHERE instance_id = $1 AND sort_name >= lower($2) AND sort_name < lower($2) || ${LAST_CHAR}
  AND (sort_name, jid) > ($3, $4) AND ${IS_CONTACT}
ORDER BY sort_name, jid LIMIT $5`;

/** Ordered by phone: $3, the name of the last contact, does not matter. */
const BY_PHONE = `
SELECT ${COLUMNS} FROM contacts
WHERE instance_id = $1 AND jid >= $2 AND jid < $2 || ${LAST_CHAR} AND jid > $4 AND $3::text IS NOT NULL
  AND jid LIKE '%@s.whatsapp.net' AND ${IS_CONTACT}
ORDER BY jid LIMIT $5`;

/**
 * The contacts of an instance by keyset, by their names; with a search those whose name begins so, or whose phone
 * does (CHT-5). Throws 404 INSTANCE_NOT_FOUND, 400 BAD_REQUEST.
 */
export async function listContacts(
  deps: { db: Db },
  input: { principal: Principal; instanceId: string; filter: ContactFilter },
): Promise<{ data: Contact[]; nextCursor: string | null }> {
  const { search = '', before, limit } = input.filter;
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const isPhone = /^\+?[\d\s().-]+$/.test(search) && /\d/.test(search);
  const digits = isPhone ? search.replace(/\D/g, '') : null;
  const prefix = digits ?? search;
  const after = before === undefined ? ['', ''] : decodePosition(before);
  const byPhone = digits !== null;
  const found = await deps.db.query<ContactRow>(byPhone ? BY_PHONE : BY_NAME, [
    instanceId,
    prefix,
    after[0],
    after[1],
    limit + 1,
  ]);
  const { page, last } = cutPage(found.rows, limit);
  return {
    data: page.map(contactView),
    nextCursor: last && encodePosition(last.sort_name, last.jid),
  };
}

/** One contact, by any spelling of its id. Throws 404 INSTANCE_NOT_FOUND or NOT_FOUND. */
export async function findContact(
  deps: { db: Db },
  input: { principal: Principal; instanceId: string; contactId: string },
): Promise<Contact> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const jid = await findChatJid(deps.db, instanceId, input.contactId);
  const found =
    jid !== null
      ? await deps.db.query<ContactRow>(
          `SELECT ${COLUMNS} FROM contacts WHERE instance_id = $1 AND jid = $2 AND ${IS_CONTACT}`,
          [instanceId, jid],
        )
      : { rows: [] };
  const row = found.rows[0];
  if (!row) throw apiError('NOT_FOUND');
  return contactView(row);
}

function contactView(row: ContactRow): Contact {
  return {
    jid: row.jid,
    phone: phoneOf(row.jid),
    name: row.name,
    push_name: row.push_name,
    saved: row.name !== '',
    blocked: row.blocked,
    updated_at: row.updated_at.toISOString(),
  };
}
