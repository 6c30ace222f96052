import type { Readable } from 'node:stream';
import { type InboundMedia, SendRefused } from '@posthorn/core/network/driver.ts';
import { withTimeout } from '@posthorn/core/platform/process/with-timeout.ts';
import { readMessage } from '../known-messages.ts';
import { requireLive, transferOf, type WhatsAppContext } from '../session-context.ts';
import { unwrap } from '../wire/content.ts';
import { bodyOf } from '../wire/inbound.ts';
import type { MediaRef } from '../wire/inbound-media.ts';
import { downloadMedia } from './transfer.ts';

/** How long the sender's phone may take to upload it again. The owner waits a little longer for a download to begin. */
const AGAIN_MS = 8_000;
/** A phone that did not answer is not asked again for this long: later messages of the chat wait for each question. */
const SILENT_MS = 10 * 60_000;
const SILENT_MAX = 1_000;

/**
 * Opens received media by its handle. If the network has forgotten it, asks the sender's phone to upload it
 * again.
 */
export async function downloadReceived(session: WhatsAppContext, media: InboundMedia): Promise<Readable> {
  const ref = media.ref as MediaRef | null;
  if (!ref || typeof ref.directPath !== 'string' || typeof ref.mediaKey !== 'string')
    throw new SendRefused('media_invalid');
  try {
    return await downloadMedia(transferOf(session), ref);
  } catch (err) {
    if (!(err instanceof SendRefused) || err.reason !== 'media_expired') throw err;
    const again = await askAgain(session, ref);
    if (!again) throw err;
    return downloadMedia(transferOf(session), again);
  }
}

/** The handle of the media after a new upload; null if no phone has it any more. */
async function askAgain(session: WhatsAppContext, { of }: MediaRef): Promise<MediaRef | null> {
  const known =
    of && (await readMessage({ library: session.library, keys: session.request.keys }, of.chat, of.id));
  if (!known) return null;
  const { id, chat, from, fromMe, message } = known;
  const { silent, deps } = session;
  const nowMs = deps.clock.now().getTime();
  if (nowMs - (silent.get(from) ?? 0) < SILENT_MS) return null;
  const participant = chat.endsWith('@g.us') ? { participant: from } : {};
  const asked = requireLive(session)
    .socket.updateMediaMessage({ key: { remoteJid: chat, id, fromMe, ...participant }, message })
    .catch(() => null);
  const updated = await withTimeout(asked, AGAIN_MS, () => 'late' as const);
  if (updated === 'late') {
    silent.delete(from);
    silent.set(from, nowMs);
    if (silent.size > SILENT_MAX) silent.delete(silent.keys().next().value!);
    return null;
  }
  const found = updated?.message && bodyOf(unwrap(updated.message)).media;
  return (found?.ref as MediaRef | undefined) ?? null;
}
