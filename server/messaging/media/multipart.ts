import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { apiError } from '@posthorn/contract/api-error.ts';
import { FORM_FIELDS_MAX, JSON_BODY_MAX_BYTES, MEDIA_MAX_BYTES } from '@posthorn/contract/limits.ts';
import { MediaRejected } from '@posthorn/core/media/media-rejected.ts';
import type { Spool, SpooledFile } from '@posthorn/core/media/spool.ts';
import busboy from 'busboy';
import { upTo } from './up-to.ts';

/** A received form: text fields in order, and the file of the field `file`. */
export interface Form {
  fields: [name: string, value: string][];
  file: { spooled: SpooledFile; fileName: string; mimeType: string } | null;
}

const FIELD_NAME_MAX_BYTES = 100;
const LIMITS = {
  fieldNameSize: FIELD_NAME_MAX_BYTES,
  fieldSize: 256 * 1024,
  fields: FORM_FIELDS_MAX,
  parts: FORM_FIELDS_MAX + 16,
  headerPairs: 50,
};

/** The file, plus room for the fields and the separators. */
export const FORM_MAX_BYTES = MEDIA_MAX_BYTES + 2 * 1024 * 1024;

/**
 * Reads a multipart form to its end and writes its file straight into the spool, with the memory of one
 * chunk. Files of other fields are skipped. Fields have a common size limit, checked while they arrive.
 * Throws {@link MediaRejected} or ApiError 400 BAD_REQUEST; the file is then removed, and the rest of the
 * request stays unread.
 */
export async function readMultipart({ spool }: { spool: Spool }, request: IncomingMessage): Promise<Form> {
  const fields: Form['fields'] = [];
  const stop = new AbortController();
  let fieldBytes = 0;
  let named: { fileName: string; mimeType: string } | null = null;
  let spooling: Promise<SpooledFile | null> = Promise.resolve(null);
  let failure: unknown;
  const fail = (err: unknown): null => {
    failure ??= err;
    stop.abort();
    return null;
  };

  const parser = openParser(request);
  // The parser gives undefined for what it cannot read. A listener that throws behind a slow file ends the process.
  parser.on('field', (name?: string, value?: string, info?: busboy.FieldInfo) => {
    if (failure !== undefined) return;
    if (name === undefined) return void fail(malformed());
    // Letters that are not UTF-8 come as replacement characters, and would be sent so.
    if (value === undefined || value.includes('\ufffd')) return void fail(refusal(`${name}: must be UTF-8`));
    fieldBytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    if (info?.nameTruncated || info?.valueTruncated) fail(refusal(`${name.slice(0, 50)}: is too long`));
    else if (value.includes('\0')) fail(refusal(`${name}: has characters that cannot be stored`));
    else if (fieldBytes > JSON_BODY_MAX_BYTES) fail(apiError('PAYLOAD_TOO_LARGE'));
    else fields.push([name, value]);
  });
  parser.on('file', (name, stream, { filename, mimeType }) => {
    stream.on('error', () => undefined);
    // The parser goes on to the end of its chunk when it was stopped, and then ends no file that it began.
    if (name !== 'file' || failure !== undefined) {
      stream.resume();
      return;
    }
    if (named) {
      stream.resume();
      fail(refusal('only one file can be sent'));
      return;
    }
    named = { fileName: filename ?? '', mimeType };
    spooling = spool.write(stream.iterator({ destroyOnReturn: false })).catch((err: unknown) => {
      // Browsers send this for a file input left empty.
      if (!filename && err instanceof MediaRejected && err.flaw === 'empty') return null;
      return fail(err);
    });
  });
  for (const limit of ['fieldsLimit', 'partsLimit', 'filesLimit'] as const)
    parser.on(limit, () => void fail(refusal('the form has too many fields')));

  try {
    await pipeline(upTo(request, FORM_MAX_BYTES), parser, { signal: stop.signal });
  } catch (cause) {
    // If the file itself was refused, that error stopped the parser and takes precedence over this one.
    fail(cause instanceof MediaRejected ? cause : malformed(cause));
  }
  const spooled = await spooling;
  if (failure !== undefined) {
    await spooled?.discard();
    throw failure;
  }
  return { fields, file: spooled && { spooled, ...named! } };
}

function openParser(request: IncomingMessage): busboy.Busboy {
  try {
    return busboy({ headers: request.headers, defParamCharset: 'utf8', limits: LIMITS });
  } catch (cause) {
    throw malformed(cause);
  }
}

function malformed(cause?: unknown) {
  return refusal('failed to parse multipart form', cause);
}

function refusal(message: string, cause?: unknown) {
  return apiError('BAD_REQUEST', { message, cause });
}
