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

/** As the sends say it (MED-6). */
export function sendErrorOf({ flaw }: MediaRejected): ApiError {
  switch (flaw) {
    case 'empty':
      return apiError('BAD_REQUEST', { message: 'the media is empty' });
    case 'too_large':
      return apiError('MEDIA_TOO_LARGE');
    case 'unsupported':
      return apiError('UNSUPPORTED_MEDIA_TYPE');
    case 'unreadable':
      return apiError('BAD_REQUEST', { message: 'failed to read file' });
    case 'not_base64':
      return apiError('BAD_REQUEST', { message: 'media_base64: is not valid base64' });
  }
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

/** As a fetch says it: 502, whatever it was, before anything is queued (MED-2). */
export function fetchErrorOf(err: MediaRejected): ApiError {
  return apiError('MEDIA_FETCH_FAILED', { message: FETCH_MESSAGES[err.flaw], cause: err });
}

const FETCH_MESSAGES: Record<MediaFlaw, string> = {
  empty: 'the media could not be fetched: it is empty',
  too_large: 'the media could not be fetched: it is larger than 64 MB',
  unsupported: 'the media could not be fetched: unsupported media MIME type',
  unreadable: 'the media could not be fetched: the connection broke',
  not_base64: 'the media could not be fetched',
};
