import { apiError } from '@posthorn/contract/api-error.ts';
import { isGroupJid, parseRecipient, phoneOf } from '@posthorn/contract/jid.ts';
import {
  type BlockedContact,
  type CheckedContacts,
  checkedContacts,
} from '@posthorn/contract/messaging/chats.ts';
import type { Principal } from '../access/principal.ts';
import { holdAddresses } from '../instances/lock-leases.ts';
import { readKnownJid } from '../lids/read-phones.ts';
import { askForChange } from '../rpc/ask-network.ts';
import { type RpcDeps, RpcRefused, requestOwner } from '../rpc/request-owner.ts';
import { requireCapable } from '../rpc/require-capable.ts';
import { chatJidOf } from './chat-jid.ts';

interface Input {
  principal: Principal;
  instanceId: string;
  signal: AbortSignal;
}

/** Which of these numbers have an account, in the order asked (CHT-5). Throws as `requestOwner` does. */
export async function checkContacts(
  deps: RpcDeps,
  input: Input & { phones: readonly string[] },
): Promise<CheckedContacts> {
  const { principal, instanceId, signal } = input;
  await requireCapable(deps, input, 'contacts_check');
  const phones = input.phones.map((phone) => {
    const parsed = parseRecipient(phone);
    if ('error' in parsed) throw apiError('INVALID_PHONE');
    return phoneOf(parsed.jid);
  });
  try {
    const args = { phones };
    const answer = await requestOwner(deps, { principal, instanceId, op: 'contacts_check', args, signal });
    return checkedContacts.parse({ contacts: answer });
  } catch (cause) {
    if (cause instanceof RpcRefused) throw apiError('SEND_FAILED', { cause });
    throw cause;
  }
}

/** Blocks a contact here and on the devices, or unblocks it. Throws 400 INVALID_RECIPIENT for a group. */
export async function blockContact(
  deps: RpcDeps,
  input: Input & { contactId: string; blocked: boolean },
): Promise<BlockedContact> {
  const { principal, signal, blocked } = input;
  const { companyId, instanceId } = await requireCapable(deps, input, 'contact_block');
  const jid = await chatJidOf(deps.db, instanceId, input.contactId);
  if (isGroupJid(jid)) throw apiError('INVALID_RECIPIENT');
  const args = { jid, blocked };
  const revision = await askForChange(deps, { principal, instanceId, op: 'contact_block', args, signal });
  return deps.db.transaction(async (sql) => {
    await holdAddresses(sql, instanceId);
    // While the network is asked, the phone behind an anonymous id may be learnt.
    const today = await readKnownJid(sql, instanceId, jid);
    await sql.query(
      `INSERT INTO contacts AS c (instance_id, company_id, jid, blocked, blocked_revision, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (instance_id, jid) DO UPDATE
       SET blocked = excluded.blocked, blocked_revision = excluded.blocked_revision, updated_at = excluded.updated_at
       WHERE c.blocked_revision < excluded.blocked_revision`,
      [instanceId, companyId, today, blocked, revision, deps.clock.now()],
    );
    return { jid: today, blocked };
  });
}
