import type { Readable } from 'node:stream';
import { type InboundMedia, SendRefused } from '../../driver.ts';
import { type Context, transferOf } from '../session-context.ts';
import type { MediaRef } from '../wire/inbound-media.ts';
import { downloadMedia } from './transfer.ts';

/** Opens received media by its handle. */
export async function downloadReceived(session: Context, media: InboundMedia): Promise<Readable> {
  const ref = media.ref as MediaRef | null;
  if (!ref || typeof ref.directPath !== 'string' || typeof ref.mediaKey !== 'string')
    throw new SendRefused('media_invalid');
  return downloadMedia(transferOf(session), ref);
}
