import { knownJid, mayStandForAnother, readPhones } from '../lids/read-phones.ts';
import type { Sql } from '../platform/database/db.ts';
import type { SendCommand } from './send-command.ts';

function mayBeElsewhere({ message }: SendCommand): boolean {
  return message !== undefined && mayStandForAnother(message.chatJid);
}

/**
 * Addresses sends to the chats in which their recipients are today: a user id may be a former one, or that of somebody whose
 * phone is known, and a number may lead to an account that has another one. Without such a send the database is not asked.
 */
export async function underKnownAddresses(sql: Sql, sends: SendCommand[]): Promise<SendCommand[]> {
  if (!sends.some(mayBeElsewhere)) return sends;
  const people = sends.flatMap(({ instanceId, message }) =>
    message ? [{ instanceId, jid: message.chatJid }] : [],
  );
  const book = await readPhones(sql, people);
  return sends.map((send) => {
    if (!send.message || !mayBeElsewhere(send)) return send;
    const chatJid = knownJid(book, { instanceId: send.instanceId, jid: send.message.chatJid });
    return { ...send, message: { ...send.message, chatJid } };
  });
}
