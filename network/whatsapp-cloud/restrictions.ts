/** The restrictions of the account as a session knows them, of which users see one. */
import type { OpenRequest, SessionSink } from '@posthorn/core/network/driver.ts';
import type { Credentials } from './credentials.ts';

export interface Restrictions {
  /** A missing payment is `payment_required`; null: the network takes what is sent. */
  blocked: string | null;
  isQualityLow: boolean;
  /** When the network last told of the quality. */
  qualityAtMs: number;
  /** Since when the account stands: it was reinstated then, or these credentials were given. */
  standsSinceMs: number;
  /** When the network last said whether it takes what is sent: older words about it, which come late, change nothing. */
  saidAtMs: number;
  told: string | null | undefined;
}

/** `earlier`: the restriction that users see of an earlier session. */
export function restrictionsSince(beganAtMs: number, earlier: string | null | undefined): Restrictions {
  const isQualityLow = earlier === 'quality_low';
  const blocked = isQualityLow ? null : (earlier ?? null);
  const saidAtMs = blocked === null ? 0 : beganAtMs - 1;
  const times = { saidAtMs, qualityAtMs: 0, standsSinceMs: beganAtMs };
  return { blocked, isQualityLow, told: undefined, ...times };
}

interface Restricted {
  restrictions: Restrictions;
  sink: Pick<SessionSink, 'restricted'>;
  request: Pick<OpenRequest, 'keys'>;
  credentials: Pick<Credentials, 'phone_number_id' | 'verify_token'>;
}

/** Why the network last took nothing from this number, and since when: users see no restriction while it is not connected. */
const BLOCKED = { kind: 'cloud', id: 'blocked' };

interface KnownBlock {
  numberId: string;
  blocked: string | null;
  saidAtMs: number;
}

/** The quality of this number, as the network last told it. */
const QUALITY = { kind: 'cloud', id: 'quality' };

interface KnownQuality extends Pick<Restrictions, 'isQualityLow' | 'qualityAtMs'> {
  numberId: string;
}

/** Since when the account stands under these credentials; each giving of them draws another token. */
const STANDING = { kind: 'cloud', id: 'standing' };

interface KnownStanding extends Pick<Restrictions, 'standsSinceMs'> {
  verifyToken: string;
}

/** Takes up what an earlier session of this number was told. */
export async function recall(session: Restricted): Promise<void> {
  const { restrictions, request, credentials } = session;
  const { phone_number_id: numberId, verify_token: verifyToken } = credentials;
  const rows = await request.keys.read('cloud', [BLOCKED.id, QUALITY.id, STANDING.id]);
  const block = rows.get(BLOCKED.id) as KnownBlock | undefined;
  const quality = rows.get(QUALITY.id) as KnownQuality | undefined;
  const standing = rows.get(STANDING.id) as KnownStanding | undefined;
  // A message that goes out in the same second was sent by this session, and so later.
  if (block?.blocked && block.numberId === numberId)
    Object.assign(restrictions, { blocked: block.blocked, saidAtMs: block.saidAtMs - 1 });
  if (quality?.numberId === numberId) {
    const { isQualityLow, qualityAtMs } = quality;
    Object.assign(restrictions, { isQualityLow, qualityAtMs });
  }
  if (standing?.verifyToken === verifyToken) restrictions.standsSinceMs = standing.standsSinceMs;
  else await keepStanding(session);
}

/** The network said at this time that it restricts the account. */
export function restrict(session: Restricted, restriction: string, at: Date): void {
  const { restrictions } = session;
  const atMs = secondOf(at);
  if (atMs < restrictions.saidAtMs) return;
  setBlocked(session, restriction, atMs);
}

/**
 * The network sent a message at this time. A message that was delivered or read then shows nothing: it may have been sent
 * before the restriction. Neither does one without a price show that a missing payment was made.
 */
export function noteSent(session: Restricted, { at, isFree }: { at: Date; isFree: boolean }): void {
  const { restrictions } = session;
  const atMs = secondOf(at);
  if (atMs <= restrictions.saidAtMs) return;
  if (restrictions.blocked === 'payment_required' && isFree) return;
  restrictions.saidAtMs = atMs;
  if (restrictions.blocked !== null) setBlocked(session, null, atMs);
}

/** Quality has news of its own, and neither shows nor hides that the account is restricted. */
export function noteQuality(session: Restricted, { isLow, at }: { isLow: boolean; at: Date }): void {
  const { restrictions, request, credentials } = session;
  const qualityAtMs = secondOf(at);
  if (qualityAtMs < restrictions.qualityAtMs) return;
  const told = { isQualityLow: isLow, qualityAtMs };
  Object.assign(restrictions, told);
  tell(session);
  const known: KnownQuality = { numberId: credentials.phone_number_id, ...told };
  request.keys.write([{ ...QUALITY, value: known }]).catch(() => undefined);
}

/** The network reinstated the account at this time. */
export function noteReinstated(session: Restricted, at: Date): void {
  if (secondOf(at) <= session.restrictions.standsSinceMs) return;
  session.restrictions.standsSinceMs = secondOf(at);
  keepStanding(session).catch(() => undefined);
}

/** Whether the account stands again although the network disabled it at this time: it has sent a message since, for instance. */
export function standsAgain({ restrictions }: Restricted, disabledAt: Date): boolean {
  const { blocked, saidAtMs, standsSinceMs } = restrictions;
  return secondOf(disabledAt) < (blocked === null ? Math.max(saidAtMs, standsSinceMs) : standsSinceMs);
}

async function keepStanding({ restrictions, request, credentials }: Restricted): Promise<void> {
  const { standsSinceMs } = restrictions;
  const known: KnownStanding = { verifyToken: credentials.verify_token, standsSinceMs };
  await request.keys.write([{ ...STANDING, value: known }]);
}

function setBlocked(session: Restricted, blocked: string | null, saidAtMs: number): void {
  const { restrictions, request, credentials } = session;
  const isNew = blocked !== restrictions.blocked;
  Object.assign(restrictions, { blocked, saidAtMs });
  tell(session);
  const known: KnownBlock = { numberId: credentials.phone_number_id, blocked, saidAtMs };
  // A write that fails costs what a later session shows until the network says it again.
  if (isNew) request.keys.write([{ ...BLOCKED, value: known }]).catch(() => undefined);
}

/** Reports the restriction that users should see, unless it is the one that was reported last. */
export function tell({ restrictions, sink }: Restricted): void {
  const { blocked, isQualityLow, told } = restrictions;
  const shown = blocked ?? (isQualityLow ? 'quality_low' : null);
  if (shown === told) return;
  restrictions.told = shown;
  sink.restricted(shown);
}

/** The network tells times in whole seconds. */
export function secondOf(at: Date): number {
  return Math.floor(at.getTime() / 1_000) * 1_000;
}
