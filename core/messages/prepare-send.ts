import { hash } from 'node:crypto';
import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import type { MediaSourceFields } from '@posthorn/contract/messaging/media-bodies.ts';
import type { NewMessage } from '../content/new-message.ts';
import type { SendRule } from '../content/rule.ts';
import { sendRules } from '../content/rules.ts';
import type { MediaKind, MediaRecord, MediaScope, MediaSources } from '../media/media-port.ts';
import type { Clock } from '../platform/clock.ts';
import type { Db } from '../platform/db.ts';
import { findReferencedStatus } from '../status/find-status.ts';
import { checkBeforeMedia } from './check-before-media.ts';
import { findReferenced } from './find-referenced.ts';
import type { SendInput } from './send-input.ts';

export interface PrepareDeps {
  db: Db;
  clock: Clock;
  media: MediaSources;
}

export interface PreparedSend {
  message: NewMessage;
  /** Said unless the send turns out to be a replay. */
  refusal?: ApiError | undefined;
  /** What stands for the body in "the same key with a different body": digests in place of files. */
  body: unknown;
  mediaId?: string | undefined;
}

/**
 * Makes the message of a send: stores or finds its media, looks up what it refers to, and applies its rule.
 * Synchronous for what refers to nothing, which is nearly every send. Throws what the media's source
 * throws.
 */
export function prepareSend(deps: PrepareDeps, input: SendInput): PreparedSend | Promise<PreparedSend> {
  const rule = sendRules[input.operation];
  const kind = rule.media?.(input.body) ?? null;
  if (kind === null && !rule.target && !rule.status) {
    return concluded(rule, input, { body: input.body, now: deps.clock.now() });
  }
  return prepareWithLookups(deps, input, rule, kind);
}

async function prepareWithLookups(
  deps: PrepareDeps,
  input: SendInput,
  rule: SendRule,
  kind: MediaKind | null,
): Promise<PreparedSend> {
  const { body, instanceId } = input;
  const { media, identity } = kind
    ? await mediaFrom(deps, input, kind)
    : { media: undefined, identity: body };
  if (media === null) return refused(identity, apiError('NOT_FOUND', { message: 'media not found' }));
  const target = rule.target && (await findReferenced(deps.db, instanceId, rule.target(body)));
  const status = rule.status && (await findReferencedStatus(deps.db, instanceId, rule.status(body)));
  return concluded(rule, input, { body: identity, media, target, status, now: deps.clock.now() });
}

function concluded(
  rule: SendRule,
  input: SendInput,
  found: Parameters<SendRule['toMessage']>[1] & { body: unknown },
): PreparedSend {
  const message = rule.toMessage(input.body, found);
  if (message instanceof Error) return refused(found.body, message);
  return { message, body: found.body, mediaId: found.media?.mediaId };
}

/** The accept still has to say whether it is a replay; an empty message stands where none was made. */
function refused(body: unknown, refusal: ApiError): PreparedSend {
  return { message: { type: '', chatJid: '', content: {} }, refusal, body };
}

/** The media by whichever source was given, and the body as it counts for the idempotency key. */
async function mediaFrom(
  deps: PrepareDeps,
  input: SendInput,
  kind: MediaKind,
): Promise<{ media: MediaRecord | null; identity: unknown }> {
  const { body, instanceId, principal, file, signal } = input;
  const { media_id, media_url, media_base64 } = body as MediaSourceFields;
  const own: MediaScope = { companyId: principal.companyId, instanceId };
  if (media_id && !principal.isSuperadmin) {
    return { media: await deps.media.find(own, media_id, kind), identity: body };
  }
  const digests = {
    ...(media_base64 ? { media_base64: hash('sha256', media_base64, 'hex') } : {}),
    ...(file?.spooled ? { file: file.spooled.sha256 } : {}),
  };
  const identity = { ...body, ...digests };
  const { scope, replay } = await checkBeforeMedia(deps, input);
  // Whatever it answers, a repeat fetches and stores nothing; only what was not read yet has to be.
  if (replay && (!file || file.spooled)) return { media: replay, identity };
  if (media_id) return { media: await deps.media.find(scope, media_id, kind), identity };
  if (media_url) return { media: await deps.media.fromUrl(scope, media_url, kind, signal), identity };
  if (media_base64) return { media: await deps.media.fromBase64(scope, media_base64, kind), identity };
  if (!file) throw new Error('a send with media passed the contract without a source');
  const media = await deps.media.fromUpload(scope, file, kind);
  return { media, identity: { ...body, file: media.sha256 } };
}
