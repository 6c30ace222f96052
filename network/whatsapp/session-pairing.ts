/** The pairing of a session and its credentials. */
import { setTimeout as delay } from 'node:timers/promises';
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import { credsChange } from './keys.ts';
import type { LibraryCreds } from './library-types.ts';
import { ownJid, requireLive, type WhatsAppContext } from './session-context.ts';

/**
 * Stores the credentials before anything that depends on them is sent. Before the phone has confirmed, there
 * is nothing to store.
 */
export async function keepCreds(session: WhatsAppContext, update: Partial<LibraryCreds>): Promise<void> {
  const { request, creds } = session;
  // The library does the same, before or after this.
  Object.assign(creds, update);
  if (!session.isPaired && !update.account) return;
  await request.keys.write([credsChange(creds)]);
  if (session.isPaired) return;
  session.isPaired = true;
  await session.arrivals.run(() => session.sink.paired(identityOf(session)));
}

function identityOf(session: WhatsAppContext) {
  const jid = ownJid(session);
  return {
    // All credentials are in the keys; this only marks that a pairing exists.
    credentials: { version: 1 },
    phone: jid.slice(0, jid.indexOf('@')),
    jid,
    pushName: session.creds.me?.name ?? '',
  };
}

export async function pairingCode(session: WhatsAppContext, phone: string): Promise<string> {
  const { connection } = session;
  if (!connection || session.phase !== 'opening' || session.isPaired)
    throw new SendUnavailable('no pairing is under way');
  // The network accepts a number only after it has sent the first QR code.
  for (let waitedMs = 0; session.qrsShown === 0; waitedMs += 100) {
    if (waitedMs >= 10_000 || session.phase !== 'opening')
      throw new SendUnavailable('the network could not be reached');
    await delay(100);
  }
  return connection.socket.requestPairingCode(phone);
}

const LOGIN_MS = 10_000;

/** Removes this device from the account. Throws SendUnavailable if the network did not confirm it. */
export async function unlink(session: WhatsAppContext): Promise<void> {
  // Right after a pairing the network requires another login first.
  const logsIn = () => session.phase === 'opening' && session.isPaired;
  for (let waitedMs = 0; logsIn() && waitedMs < LOGIN_MS; waitedMs += 50) await delay(50);
  const { socket } = requireLive(session);
  const jid = session.creds.me?.id ?? '';
  const removal = { tag: 'remove-companion-device', attrs: { jid, reason: 'user_initiated' } };
  try {
    await socket.query({
      tag: 'iq',
      attrs: { to: '@s.whatsapp.net', type: 'set', xmlns: 'md' },
      content: [removal],
    });
  } catch (cause) {
    // The network may end the connection instead of answering.
    if (session.phase === 'live') throw new SendUnavailable('the network did not take the logout', { cause });
  }
}
