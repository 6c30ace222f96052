import sharp from 'sharp';
import { ConversionFailed } from './run-ffmpeg.ts';

export interface ImageLook {
  widthPx: number;
  heightPx: number;
  /** JPEG, base64. */
  thumbnail: string;
}

const THUMBNAIL_PX = 200;
/** Read from the head, before anything is unpacked: 30 megapixels are 120 MB, of whatever a few kilobytes claim. */
const PIXELS_MAX = 30_000_000;
const TIMEOUT_S = 20;
/** What this build of the library reads; of the others, e.g. HEIC, nothing can be told. */
const READABLE = /^image\/(jpeg|png|webp|gif|tiff|avif)$/;

export function isReadableImage(mimeType: string): boolean {
  return READABLE.test(mimeType);
}

// Files are looked at once; memory kept for a second look is memory lost.
sharp.cache(false);
sharp.concurrency(1);
// The library goes by the content, whatever we took it for. Just these: SVG and its like can name other files.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Tiff', 'Heif'].map((format) => `VipsForeignLoad${format}`),
});

/**
 * The size of a picture as it is shown, and a small one of it. The whole of it is decoded: one that is cut
 * off or broken is found here and not by its recipient. Throws {@link ConversionFailed}.
 */
export async function inspectImage(path: string): Promise<ImageLook> {
  try {
    const picture = sharp(path, {
      limitInputPixels: PIXELS_MAX,
      failOn: 'error',
      sequentialRead: true,
    }).timeout({ seconds: TIMEOUT_S });
    const { autoOrient } = await picture.metadata();
    // The library looks too, but not in every format before it has begun.
    if (autoOrient.width * autoOrient.height > PIXELS_MAX) throw new ConversionFailed('too many pixels');
    const thumbnail = await picture
      .rotate()
      .resize({ width: THUMBNAIL_PX, height: THUMBNAIL_PX, fit: 'inside', withoutEnlargement: true })
      .flatten({ background: '#ffffff' })
      .jpeg({ quality: 60 })
      .toBuffer();
    return {
      widthPx: autoOrient.width,
      heightPx: autoOrient.height,
      thumbnail: thumbnail.toString('base64'),
    };
  } catch (cause) {
    throw new ConversionFailed('the picture cannot be read', { cause });
  }
}
