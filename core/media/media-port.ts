/** The ports of the send and receive pipelines for media. core/media implements them. */

import type { Readable } from 'node:stream';
import type { InstanceScope } from '../access/instance-scope.ts';
import type { DatabaseWait } from '../platform/database/in-time.ts';
import type { SpooledFile } from './spool.ts';

/** The kind of message that a send makes of the media: decides which MIME types may pass. */
export type MediaKind = 'image' | 'video' | 'audio' | 'document' | 'sticker' | 'ptv' | 'gif';

export type MediaScope = InstanceScope;

/**
 * The file that came with a request: of a multipart form, or `media_base64`, which the server decodes while
 * it reads the body and hands over in the same way.
 */
export interface UploadedFile {
  /** Opens nothing until it is read. */
  stream: Readable;
  fileName: string;
  mimeType: string;
  /** Set by the server, which has written the body to a file: measured and hashed already. */
  spooled?: SpooledFile;
  /** True for `media_base64`, which is kept for good and, in an instance, once (MED-4). */
  isBase64?: boolean;
}

/** Stored media, as a send refers to it. */
export interface MediaRecord {
  mediaId: string;
  mimeType: string;
  fileName: string;
  sizeBytes: number;
  /** Hex SHA-256 of the bytes: the same picture under two ids is the same content to the guard. */
  sha256: string;
}

/** The request that a source works for. */
interface MediaRequest {
  /** Aborts when its client is gone. */
  signal?: AbortSignal | undefined;
  /** How long it may wait for the database; absent: nobody waits for its answer. */
  wait?: DatabaseWait | undefined;
}

/** The sources of a send's media (MED-1), before it is accepted. */
export interface MediaSources {
  /**
   * Fetches and stores, or takes it from the cache of 7 days. Throws ApiError 502 MEDIA_FETCH_FAILED, 503
   * SERVICE_UNAVAILABLE.
   */
  fromUrl(scope: MediaScope, url: string, kind: MediaKind, request?: MediaRequest): Promise<MediaRecord>;
  /**
   * A data URI or bare base64. Throws ApiError 400 BAD_REQUEST, 413 MEDIA_TOO_LARGE, 415
   * UNSUPPORTED_MEDIA_TYPE, 503 SERVICE_UNAVAILABLE with Retry-After when memory is short.
   */
  fromBase64(scope: MediaScope, data: string, kind: MediaKind, request?: MediaRequest): Promise<MediaRecord>;
  /** One file of the request, read to its end. Throws as `fromBase64`. */
  fromUpload(
    scope: MediaScope,
    file: UploadedFile,
    kind: MediaKind,
    request?: MediaRequest,
  ): Promise<MediaRecord>;
  /**
   * Media of this instance that is still kept; null for an unknown, foreign or expired id. Asked once for
   * each send by media_id: look-ups that arrive together should share a query. Throws ApiError 415
   * UNSUPPORTED_MEDIA_TYPE when it cannot be sent as `kind`.
   */
  find(
    scope: MediaScope,
    mediaId: string,
    kind: MediaKind,
    request?: MediaRequest,
  ): Promise<MediaRecord | null>;
}

/** Media that cannot be sent; `reason` is stable snake_case and reaches the failure event. */
export class MediaUnusable extends Error {
  readonly reason: string;
  constructor(reason: 'media_not_found' | 'media_conversion_failed' | (string & {}), options?: ErrorOptions) {
    super(`the media cannot be sent: ${reason}`, options);
    this.name = 'MediaUnusable';
    this.reason = reason;
  }
}

/** Stores media that arrived from the network, so that its event can carry a media_id (MED-15). */
export interface InboundMediaStore {
  /**
   * `key` names the received message within its instance: the same key again answers the same media, so
   * a message that the network repeats is stored once.
   */
  store(
    scope: MediaScope,
    media: {
      key: string;
      remoteJid: string;
      mimeType: string;
      fileName: string;
      open(): Promise<Readable>;
    },
  ): Promise<{ mediaId: string; mimeType: string; animated: boolean }>;
}
