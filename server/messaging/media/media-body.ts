import type { IncomingMessage } from 'node:http';
import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { MEDIA_MAX_BYTES } from '@posthorn/contract/limits.ts';
import { lazyFile } from '@posthorn/core/media/lazy-file.ts';
import type { UploadedFile } from '@posthorn/core/media/media-port.ts';
import { MediaRejected, sendErrorOf, uploadErrorOf } from '@posthorn/core/media/media-rejected.ts';
import type { SharedBudget } from '@posthorn/core/media/shared-budget.ts';
import type { Spool, SpooledFile } from '@posthorn/core/media/spool.ts';
import { beforeFirst } from '@posthorn/core/platform/before-first.ts';
import type { MediaBodies, MediaBody } from '../../http/media-bodies.ts';
import { parseJson } from '../../http/parse-json.ts';
import type { PreparedRoute } from '../../http/prepared-route.ts';
import { isEmpty, readText } from '../../http/read-json.ts';
import { bodyOfForm } from './form-fields.ts';
import { readMediaJson } from './json-media.ts';
import { FORM_MAX_BYTES, readMultipart } from './multipart.ts';
import { PLACEHOLDER } from './placeholder.ts';

/** The resources for receiving bodies with media; null: no media storage is configured. */
export type MediaIntake = {
  spool: Spool;
  /** Budgets in bytes: of memory, and of the spool. */
  budget: SharedBudget;
  room: SharedBudget;
  /** The maximum memory for receiving and storing one file. */
  bodyMemoryBytes: number;
} | null;

/** Reads media for the routes of this service. */
export function createMediaBodies(intake: MediaIntake): MediaBodies {
  return {
    read: (route, request, companyId) => readMediaBody(intake, route, request, companyId),
    forgetPlaceholder,
  };
}

/** Memory for parsers etc., for a nearly empty body. */
const SMALL_BODY_BYTES = 64 * 1024;

/**
 * Reads the body of a route that takes media: JSON, with or without the bytes in it, or a multipart form.
 * Throws ApiError with the codes of the route: sends have their own codes for media errors, the upload
 * answers all of them with 400 (MED-6, MED-10). 503 with Retry-After if no memory is left.
 */
async function readMediaBody(
  intake: MediaIntake,
  route: PreparedRoute,
  request: IncomingMessage,
  companyId: number,
): Promise<MediaBody> {
  const taken: (() => void)[] = [];
  let spooled: SpooledFile | undefined;
  const open = (): NonNullable<MediaIntake> => {
    if (!intake) throw apiError('SERVICE_UNAVAILABLE', { message: 'media storage not configured' });
    return intake;
  };
  const reserve = () => {
    const { budget, room, bodyMemoryBytes } = open();
    taken.push(budget.take(companyId, Math.min(bodyMemoryBytes, memoryFor(request))));
    taken.push(room.take(companyId, spooledBytes(request)));
  };
  const release = async () => {
    await spooled?.discard();
    for (const free of taken.splice(0)) free();
  };

  try {
    const type = beforeFirst(request.headers['content-type'] ?? '', ';')
      .trim()
      .toLowerCase();
    if (type === 'multipart/form-data') {
      refuseTooLong(request);
      reserve();
      const { fields, file } = await readMultipart(open(), request);
      spooled = file?.spooled;
      const body = bodyOfForm(route.body!, fields);
      if (file) placeholderInto(route, body);
      else if (!route.takesBase64 && body.media_url === undefined) throw badRequest('file required');
      return { body, file: file ? uploadOf(file, {}) : undefined, release };
    }
    if (type !== 'application/json') {
      // Without a body, its type does not matter; the contract then reports the missing field.
      if (type === '' && isEmpty(request)) return { body: undefined, file: undefined, release };
      throw badRequest('the content type must be application/json or multipart/form-data');
    }
    if (!route.takesBase64) return { body: parse(route, await readText(request)), file: undefined, release };
    const spool = intake?.spool ?? NO_SPOOL;
    const { text, file } = await readMediaJson({ spool, openMedia: reserve }, request);
    spooled = file?.spooled;
    const body = parse(route, text);
    return {
      body,
      file: file ? uploadOf({ ...file, fileName: '' }, { isBase64: true }) : undefined,
      release,
    };
  } catch (err) {
    await release();
    drain(request);
    throw inWordsOf(route, err);
  }
}

/** Never used: reserving fails before anything is written to it. */
const NO_SPOOL: Spool = {
  write: () => Promise.reject(apiError('SERVICE_UNAVAILABLE')),
  sweep: async () => 0,
};

function uploadOf(
  file: { spooled: SpooledFile; fileName: string; mimeType: string },
  more: { isBase64?: true },
): UploadedFile {
  return { ...file, ...more, stream: lazyFile(file.spooled.path) };
}

/** The file counts as a source like the others: the contract refuses a second one. */
function placeholderInto(route: PreparedRoute, body: Record<string, unknown>): void {
  if (route.takesBase64) body.media_base64 = PLACEHOLDER;
  else body.media_url = PLACEHOLDER;
}

/** The file is passed separately: no handler may take the placeholder for a source. */
function forgetPlaceholder(body: Record<string, unknown>): void {
  for (const name of ['media_base64', 'media_url']) if (body[name] === PLACEHOLDER) delete body[name];
}

/** The upload has its own code for invalid JSON (MED-10). */
function parse(route: PreparedRoute, text: string): unknown {
  try {
    return parseJson(text);
  } catch (err) {
    const code = route.meta.bodyCodes?.invalid;
    if (code && (err as ApiError).code === 'INVALID_JSON') throw apiError(code, { message: 'invalid JSON' });
    throw err;
  }
}

/** Refuses the request before reading a byte if the headers give too large a size. */
function refuseTooLong(request: IncomingMessage): void {
  const length = Number(request.headers['content-length'] ?? 0);
  if (length > FORM_MAX_BYTES) throw new MediaRejected('too_large');
}

/** A small body does not fill the buffers of a large one: it is received once and written once. */
function memoryFor({ headers }: IncomingMessage): number {
  const length = Number(headers['content-length'] ?? 0);
  return length > 0 ? 2 * length + SMALL_BODY_BYTES : Number.POSITIVE_INFINITY;
}

/** Its maximum size in the spool: only the client knows the actual size, and may not send it. */
function spooledBytes({ headers }: IncomingMessage): number {
  const length = Number(headers['content-length'] ?? 0);
  return length > 0 ? Math.min(length, MEDIA_MAX_BYTES) : MEDIA_MAX_BYTES;
}

function inWordsOf(route: PreparedRoute, err: unknown): unknown {
  if (!(err instanceof MediaRejected)) return err;
  return route.errors.has('MEDIA_TOO_LARGE') ? sendErrorOf(err) : uploadErrorOf(err);
}

const DRAIN_MS = 20_000;

/** Lets the client finish sending, so that it reads the answer instead of a reset, but not forever. */
function drain(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.on('error', () => undefined);
  request.resume();
  const timer = setTimeout(() => request.destroy(), DRAIN_MS);
  request.once('close', () => clearTimeout(timer));
}

function badRequest(message: string): ApiError {
  return apiError('BAD_REQUEST', { message });
}
