import type { IncomingMessage } from 'node:http';
import type { UploadedFile } from '@posthorn/core/media/media-port.ts';
import type { PreparedRoute } from './prepared-route.ts';

/** What a service that takes media (`raw: 'multipart'`) gives the pipeline to read such bodies with. */
export interface MediaBodies {
  /** Throws ApiError with the codes of the route; nothing is left of the file then. */
  read(route: PreparedRoute, request: IncomingMessage, companyId: number): Promise<MediaBody>;
  /** Takes out of a body that was judged what stood in it for the file. */
  forgetPlaceholder(body: Record<string, unknown>): void;
}

export interface MediaBody {
  /** For the contract to judge; a placeholder stands in its source field for the file. */
  body: unknown;
  file: UploadedFile | undefined;
  /** Removes the file, unless it was stored, and releases its memory. */
  release(): Promise<void>;
}
