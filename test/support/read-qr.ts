import readModules from 'jsqr';
import sharp from 'sharp';

/** The text of a QR code in a picture, as a phone reads it; throws when it finds none. */
export async function readQrPicture(picture: Buffer): Promise<string> {
  const { data, info } = await sharp(picture).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return readQrPixels(new Uint8ClampedArray(data), info.width, info.height);
}

/** The same from pixels, four bytes each. */
export function readQrPixels(rgba: Uint8ClampedArray, width: number, height: number): string {
  const found = readModules.default(rgba, width, height);
  if (!found) throw new Error('there is no QR code');
  return found.data;
}
