import { hash } from 'node:crypto';
import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import type { MediaSourceFields } from '@posthorn/contract/messaging/media-bodies.ts';
import type { NewMessage } from '../content/new-message.ts';
import type { SendRule } from '../content/rule.ts';
import { sendRules } from '../content/rules.ts';
import type { MediaKind, MediaRecord, MediaScope, MediaSources } from '../media/media-port.ts';
import { findReferenced } from '../messages/find-referenced.ts';
import type { Db } from '../platform/database/db.ts';
import { answeringInTime } from '../platform/database/in-time.ts';
import type { Clock } from '../platform/process/clock.ts';
import { findReferencedStatus } from '../status/find-status.ts';
import { checkBeforeMedia } from './check-before-media.ts';
import { chatOfTarget, withKnownChats } from './known-chats.ts';
import type { SendRequest } from './send-request.ts';

export interface PrepareDeps {
  db: Db;
  clock: Clock;
  media: MediaSources;
}

/** A request with its message, or with the fault that keeps it from having one. */
export type PreparedSend = {
  /** The body that is compared when the idempotency key is used again: digests in place of files. */
  body: unknown;
} & (
  | { message: NewMessage; mediaId?: string | undefined; refusal?: undefined }
  /** Answered unless the send turns out to be a replay. */
  | { refusal: ApiError; message?: undefined; mediaId?: undefined }
);

/**
 * Makes the message of a send: stores or finds its media, looks up what it refers to, and applies its rule.
 * Synchronous for a send that refers to nothing, as nearly every one. Throws what the media's source throws.
 */
export function prepareSend(deps: PrepareDeps, request: SendRequest): PreparedSend | Promise<PreparedSend> {
  const rule = sendRules[request.operation];
  const kind = rule.media?.(request.body) ?? null;
  if (kind === null && !rule.target && !rule.status) {
    return applyRule(rule, request, { body: request.body, now: deps.clock.now() });
  }
  return prepareWithLookups(deps, request, rule, kind);
}

async function prepareWithLookups(
  { db, media, clock }: PrepareDeps,
  request: SendRequest,
  rule: SendRule,
  kind: MediaKind | null,
): Promise<PreparedSend> {
  const { body, instanceId, wait } = request;
  const deps = { media, clock, db: wait ? answeringInTime(db, wait) : db };
  const found: FoundMedia = kind
    ? await findMedia(deps, request, kind)
    : { media: undefined, identity: body };
  if ('refusal' in found) return { refusal: found.refusal, body: found.identity };
  const named = rule.target ? { ...request, body: await withKnownChats(deps.db, instanceId, body) } : request;
  const target =
    rule.target && (await findReferenced(deps.db, instanceId, rule.target(body), chatOfTarget(named.body)));
  const status = rule.status && (await findReferencedStatus(deps.db, instanceId, rule.status(body)));
  const now = deps.clock.now();
  return applyRule(rule, named, { body: found.identity, media: found.media, target, status, now });
}

function applyRule(
  rule: SendRule,
  request: SendRequest,
  found: Parameters<SendRule['toMessage']>[1] & { body: unknown },
): PreparedSend {
  const made = rule.toMessage(request.body, found);
  if (made instanceof Error) return { refusal: made, body: found.body };
  return { message: made, body: found.body, mediaId: found.media?.mediaId };
}

/** The media, if the body has any, or why there is none; and the body as the idempotency key compares it. */
type FoundMedia = { identity: unknown } & ({ media: MediaRecord | undefined } | { refusal: ApiError });

async function findMedia(deps: PrepareDeps, request: SendRequest, kind: MediaKind): Promise<FoundMedia> {
  const { body, instanceId, principal, file } = request;
  const { media_id, media_url, media_base64 } = body as MediaSourceFields;
  const byId = async (scope: MediaScope, mediaId: string, identity: unknown): Promise<FoundMedia> => {
    const media = await deps.media.find(scope, mediaId, kind, request);
    return media
      ? { media, identity }
      : { refusal: apiError('NOT_FOUND', { message: 'media not found' }), identity };
  };
  if (media_id && !principal.isSuperadmin)
    return byId({ companyId: principal.companyId, instanceId }, media_id, body);
  const digests = {
    ...(media_base64 ? { media_base64: hash('sha256', media_base64, 'hex') } : {}),
    ...(file?.spooled ? { file: file.spooled.sha256 } : {}),
  };
  const identity = { ...body, ...digests };
  const { scope, isReplay } = await checkBeforeMedia(deps, request);
  // The acceptor answers a replay from its key, so nothing is fetched or stored; only unread bytes have to be.
  if (isReplay && (!file || file.spooled)) return { refusal: apiError('SERVICE_UNAVAILABLE'), identity };
  if (media_id) return byId(scope, media_id, identity);
  if (media_url) return { media: await deps.media.fromUrl(scope, media_url, kind, request), identity };
  if (media_base64)
    return { media: await deps.media.fromBase64(scope, media_base64, kind, request), identity };
  if (!file) throw new Error('a send with media passed the contract without a source');
  const media = await deps.media.fromUpload(scope, file, kind, request);
  return { media, identity: { ...body, file: media.sha256 } };
}
