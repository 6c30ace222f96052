import { ConversionFailed } from './run-ffmpeg.ts';

export interface ImageLook {
  widthPx: number;
  heightPx: number;
  /** JPEG, base64. */
  thumbnail: string;
}

const THUMBNAIL_PX = 200;
/**
 * Checked from the header before decoding: 30 megapixels take 120 MB, and a file of a few kilobytes can claim
 * that.
 */
const PIXELS_MAX = 30_000_000;
const TIMEOUT_S = 20;
/** The formats this build of the library reads; others, e.g. HEIC, cannot be inspected. */
const READABLE = /^image\/(jpeg|png|webp|gif|tiff|avif)$/;

export function isReadableImage(mimeType: string): boolean {
  return READABLE.test(mimeType);
}

/**
 * The displayed size of a picture and a thumbnail. Decodes all of it, so a truncated or broken picture fails
 * here and not at its recipient. Throws {@link ConversionFailed}.
 */
export async function inspectImage(path: string): Promise<ImageLook> {
  // With the first picture: the library takes 15 MB.
  const { sharp } = await import('./picture-library.ts');
  try {
    const picture = sharp(path, {
      limitInputPixels: PIXELS_MAX,
      failOn: 'error',
      sequentialRead: true,
    }).timeout({ seconds: TIMEOUT_S });
    const { autoOrient } = await picture.metadata();
    // The library checks too, but for some formats only after it has started decoding.
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
