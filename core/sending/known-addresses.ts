import { isUserIdJid } from '@posthorn/contract/jid.ts';
import { knownJid, readPhones } from '../lids/read-phones.ts';
import type { Sql } from '../platform/database/db.ts';
import type { SendCommand } from './send-command.ts';

function isToUserId({ message }: SendCommand): boolean {
  return message !== undefined && isUserIdJid(message.chatJid);
}

/**
 * Addresses sends to the chats in which their recipients are today: a user id may be a former one, or that of somebody whose
 * phone is known. Without a send to a user id the database is not asked.
 */
export async function underKnownAddresses(sql: Sql, sends: SendCommand[]): Promise<SendCommand[]> {
  if (!sends.some(isToUserId)) return sends;
  const people = sends.flatMap(({ instanceId, message }) =>
    message ? [{ instanceId, jid: message.chatJid }] : [],
  );
  const book = await readPhones(sql, people);
  return sends.map((send) => {
    if (!send.message || !isToUserId(send)) return send;
    const chatJid = knownJid(book, { instanceId: send.instanceId, jid: send.message.chatJid });
    return { ...send, message: { ...send.message, chatJid } };
  });
}
