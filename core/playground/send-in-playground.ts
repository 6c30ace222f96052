import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import type {
  PlaygroundBody,
  PlaygroundKind,
  PlaygroundSent,
} from '@posthorn/contract/messaging/playground.ts';
import { parseInput } from '@posthorn/contract/validation-error.ts';
import type { Principal } from '../access/principal.ts';
import { PLATFORM_COMPANY_ID } from '../access/superadmin.ts';
import { sendRules } from '../content/rules.ts';
import type { MediaSources } from '../media/media-port.ts';
import { answeringInTime, type DatabaseWait } from '../platform/database/in-time.ts';
import { DAY_MS } from '../platform/durations.ts';
import { isUuid, messageIdOf, newId } from '../platform/ids.ts';
import { prepareSend } from '../sending/prepare-send.ts';
import type { SendDeps } from '../sending/send.ts';
import { commandOf } from '../sending/send-command.ts';
import { returnSend, takeSend } from './budget.ts';
import { choosePhone } from './phones.ts';
import { requestExamples } from './request-examples.ts';
import type { SandboxPhones } from './sandbox-phones.ts';
import { PLAYGROUND_INSTANCE_ID, requireSharedInstance, type SharedInstanceDeps } from './shared-instance.ts';

export interface PlaygroundDeps extends SendDeps, SharedInstanceDeps {
  publicUrl: string;
  /** `media` fetches no more than a little: what it keeps counts for the platform. */
  playground: { enabled: boolean; phones: SandboxPhones; media: MediaSources };
}

const MEDIA_KEPT_DAYS = 7;

export function requireEnabled({ playground }: Pick<PlaygroundDeps, 'playground'>): void {
  if (!playground.enabled) throw apiError('PLAYGROUND_DISABLED');
}

/**
 * Sends from the shared instance to a simulated phone of the user, in the name of the platform: nothing of the user's
 * company is read, counted or changed. A send that is refused for its body does not count against the budget. Throws
 * ApiError: 403 PLAYGROUND_DISABLED; 429 PLAYGROUND_BUDGET_EXCEEDED, PLAYGROUND_RATE_LIMITED; 400 INVALID_RECIPIENT for
 * a phone that is not the user's; 404 MESSAGE_NOT_FOUND for a message that is not; and the errors of a send.
 */
export async function sendInPlayground(
  unbounded: PlaygroundDeps,
  input: {
    principal: Principal;
    body: PlaygroundBody;
    traceId: string;
    signal: AbortSignal;
    /** How long it may wait for the database. */
    wait: DatabaseWait;
  },
): Promise<PlaygroundSent> {
  requireEnabled(unbounded);
  const { principal, traceId, signal, wait } = input;
  const deps = { ...unbounded, db: answeringInTime(unbounded.db, wait) };
  const { userId } = principal;
  const { kind: named, to, ...content } = input.body;
  const kind = named as PlaygroundKind;
  const target = content.message_id === undefined ? null : await ownMessage(deps, userId, content.message_id);
  if (content.quoted_id !== undefined) await ownMessage(deps, userId, content.quoted_id);
  const phone = target && to === undefined ? target.phone : choosePhone(userId, to);
  if (phone === null) {
    throw apiError('INVALID_RECIPIENT', { message: 'to: must be one of your phones in the playground' });
  }
  const body = parseInput(sendRules[kind].body, { ...defined(content), to: phone }, 'body') as Record<
    string,
    unknown
  >;
  const id = newId();
  await takeSend(deps, { id, companyId: principal.companyId, userId, phone, shownBy: target?.id ?? id });
  try {
    await accept(deps, { kind, body, phone, id, traceId, signal, wait });
  } catch (err) {
    if (err instanceof ApiError && err.status < 500) await returnSend(deps.db, id);
    throw err;
  }
  const request = requestExamples(deps.publicUrl, kind, { ...defined(content), to: phone });
  return { message_id: id, phone, request };
}

async function accept(
  deps: PlaygroundDeps,
  send: {
    kind: PlaygroundKind;
    body: Record<string, unknown>;
    phone: string;
    id: string;
    traceId: string;
    signal: AbortSignal;
    wait: DatabaseWait;
  },
): Promise<void> {
  await requireSharedInstance(deps, send.signal);
  await requireSimulated(deps, send.phone);
  const request = {
    principal: PLATFORM,
    instanceId: PLAYGROUND_INSTANCE_ID,
    operation: send.kind,
    idempotencyKey: send.id,
    force: false,
    body: send.body,
    signal: send.signal,
    wait: send.wait,
    traceId: send.traceId,
    messageId: send.id,
  };
  const prepared = await Promise.resolve(
    prepareSend({ ...deps, media: deps.playground.media }, request),
  ).catch(withoutPlan);
  await deps.acceptor.acceptSend(commandOf(request, prepared));
  if (prepared.mediaId) await limitMedia(deps, prepared.mediaId);
}

/** The sender as the pipeline sees it: the platform, without a user. */
const PLATFORM: Principal = {
  companyId: PLATFORM_COMPANY_ID,
  userId: 0,
  role: 'agent',
  isSuperadmin: false,
  via: 'key',
  tokenId: null,
  jti: null,
  endsAtMs: null,
  emailVerified: true,
  requestsPerMinute: 0,
};

/** A message that this user sent in the playground. Throws 404 MESSAGE_NOT_FOUND. */
async function ownMessage(
  deps: Pick<PlaygroundDeps, 'db'>,
  userId: number,
  ref: string,
): Promise<{ id: string; phone: string }> {
  const id = isUuid(ref) ? ref : messageIdOf(ref.toUpperCase());
  const { rows } = await deps.db.query<{ id: string; phone: string }>(
    'SELECT id, phone FROM playground_sends WHERE id = $1 AND user_id = $2',
    [id, userId],
  );
  if (!rows[0]) throw apiError('MESSAGE_NOT_FOUND');
  return rows[0];
}

/** Nobody's instance may have been paired with the number meanwhile: it would receive what is sent. */
async function requireSimulated(deps: PlaygroundDeps, phone: string): Promise<void> {
  const paired = await deps.playground.phones.isPaired(phone).catch((cause) => {
    throw apiError('SERVICE_UNAVAILABLE', {
      message: 'the playground cannot be reached at the moment',
      headers: { 'retry-after': '10' },
      cause,
    });
  });
  if (paired) throw apiError('INVALID_RECIPIENT', { message: 'to: an instance is paired with this phone' });
}

/** The storage that is full is the platform's: it says nothing of the user's plan. */
function withoutPlan(err: unknown): never {
  if (!(err instanceof ApiError) || err.code !== 'PLAN_LIMIT_REACHED') throw err;
  throw apiError('SERVICE_UNAVAILABLE', {
    message: 'the playground has no room for media at the moment',
    headers: { 'retry-after': '3600' },
    cause: err,
  });
}

/** Base64 media would be kept without an end. */
async function limitMedia(deps: PlaygroundDeps, mediaId: string): Promise<void> {
  await deps.db.query('UPDATE media SET expires_at = $2 WHERE id = $1', [
    mediaId,
    new Date(deps.clock.now().getTime() + MEDIA_KEPT_DAYS * DAY_MS),
  ]);
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
