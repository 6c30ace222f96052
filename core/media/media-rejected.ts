import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';

/** Faults of media that somebody gave us; each way in has its own words for them. */
export type MediaFlaw = 'empty' | 'too_large' | 'unsupported' | 'unreadable' | 'not_base64';

export class MediaRejected extends Error {
  override name = 'MediaRejected';
  readonly flaw: MediaFlaw;

  /** The type that was found, for unsupported media. */
  readonly mimeType: string | undefined;

  constructor(flaw: MediaFlaw, { mimeType, ...options }: ErrorOptions & { mimeType?: string } = {}) {
    super(`the media was refused: ${flaw}`, options);
    this.flaw = flaw;
    this.mimeType = mimeType;
  }
}

/** As the sends say it (MED-6); `kind`: what it was to be sent as. */
export function sendErrorOf({ flaw, mimeType }: MediaRejected, kind?: string): ApiError {
  switch (flaw) {
    case 'empty':
      return apiError('BAD_REQUEST', { message: 'the media is empty' });
    case 'too_large':
      return apiError('MEDIA_TOO_LARGE');
    case 'unsupported':
      return mimeType === undefined || kind === undefined
        ? apiError('UNSUPPORTED_MEDIA_TYPE')
        : unsupportedAs(kind, mimeType);
    case 'unreadable':
      return apiError('BAD_REQUEST', { message: 'failed to read file' });
    case 'not_base64':
      return apiError('BAD_REQUEST', { message: 'media_base64: is not valid base64' });
  }
}

/** 415 that names the type that was found. */
export function unsupportedAs(kind: string, mimeType: string): ApiError {
  return apiError('UNSUPPORTED_MEDIA_TYPE', {
    message: `unsupported media MIME type ${mimeType}: it cannot be sent as ${kind}`,
  });
}

/** As the upload says it: every refusal is 400 BAD_REQUEST with a message of its own (MED-10). */
export function uploadErrorOf({ flaw, mimeType }: MediaRejected): ApiError {
  const found = mimeType === undefined ? '' : ` ${mimeType}; allowed are all but web pages and programs`;
  return apiError('BAD_REQUEST', { message: `${UPLOAD_MESSAGES[flaw]}${found}` });
}

const UPLOAD_MESSAGES: Record<MediaFlaw, string> = {
  empty: 'file required',
  too_large: 'file too large (max 64MB)',
  unsupported: 'unsupported media MIME type',
  unreadable: 'failed to read file',
  not_base64: 'failed to read file',
};

/** The answer to media that was fetched and cannot be taken: always 502, before anything is queued (MED-2). */
export function fetchErrorOf(err: MediaRejected): ApiError {
  const found = err.mimeType === undefined ? '' : ` ${err.mimeType}`;
  return apiError('MEDIA_FETCH_FAILED', { message: `${FETCH_MESSAGES[err.flaw]}${found}`, cause: err });
}

const FETCH_MESSAGES: Record<MediaFlaw, string> = {
  empty: 'the media could not be fetched: it is empty',
  too_large: 'the media could not be fetched: it is larger than 64 MB',
  unsupported: 'the media could not be fetched: unsupported media MIME type',
  unreadable: 'the media could not be fetched: the connection broke',
  not_base64: 'the media could not be fetched',
};
