import type { IncomingMessage } from 'node:http';
import type { UploadedFile } from '@posthorn/core/media/media-port.ts';
import type { PreparedRoute } from './prepared-route.ts';

/** Reads media bodies (`raw: 'multipart'`) for a service that takes them. */
export interface MediaBodies {
  /** Throws ApiError with the codes of the route; the file is removed in that case. */
  read(route: PreparedRoute, request: IncomingMessage, companyId: number): Promise<MediaBody>;
  /** Removes the file's placeholder from a validated body. */
  forgetPlaceholder(body: Record<string, unknown>): void;
}

export interface MediaBody {
  /** For validation by the contract; its source field holds a placeholder for the file. */
  body: unknown;
  file: UploadedFile | undefined;
  /** Removes the file unless it was stored, and releases its memory. */
  release(): Promise<void>;
}
