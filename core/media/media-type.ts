import { open } from 'node:fs/promises';
import type { MediaKind } from './media-port.ts';
import { type MimeType, parseMimeType } from './mime-type.ts';
import { isSvgText } from './svg.ts';
import { isAnimatedWebp } from './webp.ts';

/** The type of a file by its first bytes. */
export interface DetectedType {
  /** Without parameters, except the codecs of OGG. */
  mimeType: string;
  /** An animated WebP: a sticker that moves. */
  animated: boolean;
}

const HEAD_BYTES = 4096;
const OCTETS = 'application/octet-stream';

/**
 * The type of a file by its content; neither its name nor what its sender calls it can make it another
 * (MED-7). `declared` only chooses among what the content leaves open: which text it is, and which of the
 * old office formats, which all look alike.
 */
export async function detectType(path: string, declared: string): Promise<DetectedType> {
  const [head, { FileTypeParser }] = await Promise.all([readHead(path), import('file-type')]);
  const found = await new FileTypeParser()
    .fromFile(path)
    // A file made to confuse the parser has no type that we know.
    .catch(() => undefined);
  const mimeType = refine(found?.mime, head, parseMimeType(declared)?.bare ?? '');
  return { mimeType, animated: mimeType === 'image/webp' && isAnimatedWebp(head) };
}

async function readHead(path: string): Promise<Buffer> {
  const handle = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(HEAD_BYTES), position: 0 });
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

const OLD_OFFICE = /^application\/(msword|vnd\.ms-(excel|powerpoint|outlook|project|works)|vnd\.visio)$/;
/** Text of these kinds cannot be told from other text. */
const PLAIN_TEXT = /^(text\/(?!html)[\w.+-]+|application\/(json|x-ndjson|yaml|x-yaml|sql|rtf|x-subrip))$/;

function refine(found: string | undefined, head: Buffer, declared: string): string {
  if (found === 'application/x-cfb') return OLD_OFFICE.test(declared) ? declared : found;
  // A file that is detected as XML may be an SVG.
  if (found && found !== 'application/xml') return ALIASES[found] ?? found;
  const text = textOf(head);
  if (text === null) {
    if (head.subarray(0, 3).toString('latin1') === 'ID3') return 'audio/mpeg';
    return found ?? OCTETS;
  }
  if (isSvgText(text)) return 'image/svg+xml';
  if (HTML.test(text)) return 'text/html';
  if (found) return found;
  if (text.startsWith('#!')) return 'text/x-shellscript';
  return PLAIN_TEXT.test(declared) ? declared : 'text/plain';
}

/** Older names that phones and browsers do not go by. */
const ALIASES: Record<string, string> = {
  'audio/x-m4a': 'audio/mp4',
  'audio/wav': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'video/x-m4v': 'video/mp4',
  'video/matroska': 'video/x-matroska',
  'audio/matroska': 'audio/x-matroska',
};

const HTML = /<(!doctype\s+html|html|head|body|script|iframe)[\s>]/i;

/** The head as text, or null when it is no text. A character cut in two at its end is no fault. */
function textOf(head: Buffer): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what no text holds
  if (/[\x00-\x08\x0e-\x1a\x1c-\x1f]/.test(head.toString('latin1'))) return null;
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    return decoder.decode(head, { stream: true });
  } catch {
    return null;
  }
}

/** Containers that hold sound alone as often as not: what browsers and phones record. */
const MAY_BE_SOUND = /^video\/(mp4|webm|ogg|3gpp2?|quicktime|x-matroska)$/;
/** Programs and web pages: nothing that a phone opens, and all that a fetched error page is. */
const NO_DOCUMENT =
  /^(text\/(html|x-shellscript)|application\/(x-msdownload|x-elf|x-mach-binary|x-ms-shortcut|java-vm|x-msi|wasm))$/;

const TAKES: Record<MediaKind, (type: MimeType) => boolean> = {
  // No phone draws SVG, and it can hold scripts.
  image: ({ type, bare }) => type === 'image' && bare !== 'image/svg+xml',
  video: ({ type }) => type === 'video',
  ptv: ({ type }) => type === 'video',
  gif: ({ type, bare }) => type === 'video' || bare === 'image/gif',
  audio: ({ type, bare }) => type === 'audio' || MAY_BE_SOUND.test(bare),
  sticker: ({ bare }) => bare === 'image/webp',
  document: ({ bare }) => !NO_DOCUMENT.test(bare),
};

/** Whether media of this type can be sent as `kind`; what is no media type never can. */
export function canBeSentAs(mimeType: string, kind: MediaKind): boolean {
  const parsed = parseMimeType(mimeType);
  return parsed !== null && TAKES[kind](parsed);
}
