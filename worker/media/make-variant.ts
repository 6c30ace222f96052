import { open, rm, stat } from 'node:fs/promises';
import type { StoredMedia } from '@posthorn/core/media/find-media.ts';
import { MediaUnusable } from '@posthorn/core/media/media-port.ts';
import type { MediaVariant, NewVariant, VariantDetails, VariantName } from '@posthorn/core/media/variants.ts';
import { isWholeWebp } from '@posthorn/core/media/webp.ts';
import { convertLoop, LOOP_TYPE } from './convert-loop.ts';
import { convertVoice, VOICE_TYPE } from './convert-voice.ts';
import type { Ffmpeg } from './find-ffmpeg.ts';
import { inspectImage, isReadableImage } from './inspect-image.ts';
import { inspectSound, inspectVideo } from './inspect-video.ts';
import type { PreparerDeps } from './preparer-deps.ts';
import { ConversionFailed } from './run-ffmpeg.ts';

/** The variant of a media that a message of this type needs. */
export function variantFor(
  stored: Pick<StoredMedia, 'mimeType'>,
  desired: { type: string; voice: boolean },
): VariantName {
  if (desired.voice) return 'voice';
  if (desired.type === 'gif' && stored.mimeType === 'image/gif') return 'loop';
  return 'plain';
}

interface Making {
  stored: StoredMedia;
  name: VariantName;
  /** The message's type. */
  type: string;
}

/**
 * Makes a variant of a media in its own files, which the caller owns only on success. Throws
 * ConversionFailed, {@link MediaUnusable}, or the storage's error.
 */
export async function makeVariant(
  deps: PreparerDeps,
  making: Making,
  signal: AbortSignal,
): Promise<NewVariant> {
  const { stored, name } = making;
  const look = lookFor(deps, stored, making.type);
  if (name === 'plain' && look === null) return plain(stored, {});
  const source = await deps.media.storage.open(stored.storageKey);
  // Copied from the bucket to a local file, because ffmpeg and the image library seek in it.
  const input = await deps.media.spool.write(source).finally(() => source.destroy());
  const output = `${input.path}.${name}`;
  try {
    if (name === 'voice') return await makeVoice(deps, stored, { input: input.path, output }, signal);
    if (name === 'loop') return await makeLoop(deps, { input: input.path, output }, signal);
    return plain(stored, await inspect(deps, { ...making, look }, input.path, signal));
  } catch (err) {
    await rm(output, { force: true });
    throw err;
  } finally {
    await input.discard();
  }
}

type Look = 'picture' | 'film' | 'sound' | null;

/**
 * How media is inspected for a message of this type. Documents are sent without; without ffmpeg a video is sent without its
 * thumbnail.
 */
function lookFor({ ffmpeg }: Pick<PreparerDeps, 'ffmpeg'>, { mimeType }: StoredMedia, type: string): Look {
  if (type === 'document') return null;
  if (mimeType.startsWith('image/')) return isReadableImage(mimeType) ? 'picture' : null;
  if (!ffmpeg || !/^(video|audio)\//.test(mimeType)) return null;
  return mimeType.startsWith('audio/') || type === 'audio' ? 'sound' : 'film';
}

/** Whether a variant that was made for a message of any type has what one of this type shows. */
export function suffices(
  deps: Pick<PreparerDeps, 'ffmpeg'>,
  { name, details }: MediaVariant,
  stored: StoredMedia,
  type: string,
): boolean {
  const look = name === 'plain' ? lookFor(deps, stored, type) : null;
  return look === null || (look === 'sound' ? details.durationS : details.widthPx) !== undefined;
}

function plain(stored: StoredMedia, details: VariantDetails): NewVariant {
  return { name: 'plain', mimeType: stored.mimeType, sizeBytes: stored.sizeBytes, details };
}

async function makeVoice(
  deps: PreparerDeps,
  stored: StoredMedia,
  files: { input: string; output: string },
  signal: AbortSignal,
): Promise<NewVariant> {
  const ffmpeg = requireFfmpeg(deps);
  // It is already OGG Opus: only the waveform is missing (MED-18).
  if (stored.mimeType === VOICE_TYPE) {
    const details = await convertVoice(ffmpeg, { input: files.input }, signal);
    return { name: 'voice', mimeType: VOICE_TYPE, sizeBytes: stored.sizeBytes, details };
  }
  const details = await convertVoice(ffmpeg, files, signal);
  return { name: 'voice', mimeType: VOICE_TYPE, ...(await fileOf(files.output)), details };
}

async function makeLoop(
  deps: PreparerDeps,
  files: { input: string; output: string },
  signal: AbortSignal,
): Promise<NewVariant> {
  const ffmpeg = requireFfmpeg(deps);
  await convertLoop(ffmpeg, files, signal);
  const details = await inspectVideo(ffmpeg, files.output, signal);
  return { name: 'loop', mimeType: LOOP_TYPE, ...(await fileOf(files.output)), details };
}

async function fileOf(
  path: string,
): Promise<{ file: { path: string; sizeBytes: number }; sizeBytes: number }> {
  const { size } = await stat(path);
  if (size === 0) throw new ConversionFailed('nothing came of it');
  return { file: { path, sizeBytes: size }, sizeBytes: size };
}

async function inspect(
  deps: PreparerDeps,
  { stored, type, look }: Making & { look: Look },
  path: string,
  signal: AbortSignal,
): Promise<VariantDetails> {
  if (type === 'sticker') await checkSticker(path, stored.sizeBytes);
  if (look === 'picture') {
    const seen = await inspectImage(path);
    return stored.animated ? { ...seen, animated: true } : seen;
  }
  const ffmpeg = requireFfmpeg(deps);
  return look === 'sound' ? inspectSound(ffmpeg, path, signal) : inspectVideo(ffmpeg, path, signal);
}

async function checkSticker(path: string, sizeBytes: number): Promise<void> {
  const handle = await open(path, 'r');
  try {
    const head = Buffer.alloc(32);
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    if (!isWholeWebp(head.subarray(0, bytesRead), sizeBytes)) throw new MediaUnusable('media_invalid');
  } finally {
    await handle.close();
  }
}

function requireFfmpeg({ ffmpeg }: Pick<PreparerDeps, 'ffmpeg'>): Ffmpeg {
  if (ffmpeg === null) throw new MediaUnusable('media_conversion_unavailable');
  return ffmpeg;
}
