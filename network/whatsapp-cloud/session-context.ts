import {
  type BackOff,
  type DisconnectReason,
  NotConnected,
  type OpenRequest,
  SendDeferred,
  SendRefused,
  SendUnavailable,
  type SessionSink,
} from '@posthorn/core/network/driver.ts';
import {
  askGraph,
  type GraphAddress,
  type GraphQuestion,
  GraphRefused,
  GraphUnreachable,
} from '@posthorn/core/network/graph-api.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Credentials } from './credentials.ts';
import type { HandOver } from './hand-over.ts';
import type { MediaAccess } from './media.ts';
import { createRecent, type Recent } from './recent.ts';
import { type Restrictions, restrict, restrictionsSince, secondOf } from './restrictions.ts';
import { backOffMs, type Verdict, verdictOf } from './verdicts.ts';

export interface CloudDeps {
  graph: GraphAddress;
  /** Where the network posts what is for this instance. */
  callbackUrl(instanceId: string): string;
  log: Pick<Log, 'debug' | 'warn'>;
  clock: Clock;
  sendTimeoutMs: number;
}

/** State shared by the functions of one session. */
export interface CloudContext {
  deps: CloudDeps;
  request: OpenRequest;
  sink: SessionSink;
  credentials: Credentials;
  phase: 'opening' | 'live' | 'ended';
  /** Aborted when it ends. */
  ended: AbortController;
  /** It is being logged out: nothing is subscribed any more. */
  leaves: boolean;
  handOver: HandOver | null;
  /** When it began, in whole seconds as the network tells times: what failed before failed with earlier credentials. */
  beganAtMs: number;
  restrictions: Restrictions;
  /** Failures in a row, by the chat or the account that is held, and until when the last one holds it. */
  failures: Map<string, { count: number; untilMs: number }>;
  /** The last message received in each chat: typing needs one. */
  lastReceived: Recent<string>;
  /** The network's ids of what this session sent, by ours. */
  assigned: Recent<string>;
  /** The network's ids of media that was uploaded, by its key. */
  uploads: Recent<{ id: string; untilMs: number }>;
  /** Uploads under way, by the key of the media. */
  uploading: Map<string, Promise<string>>;
}

export function createContext(
  deps: CloudDeps,
  request: OpenRequest,
  sink: SessionSink,
  credentials: Credentials,
): CloudContext {
  const beganAtMs = secondOf(deps.clock.now());
  const ended = new AbortController();
  return {
    ...{
      deps,
      request,
      sink,
      credentials,
      phase: 'opening',
      ended,
      leaves: false,
      handOver: null,
      beganAtMs,
    },
    restrictions: restrictionsSince(beganAtMs, request.restriction),
    failures: new Map(),
    lastReceived: createRecent(10_000),
    assigned: createRecent(10_000),
    uploads: createRecent(1_000),
    uploading: new Map(),
  };
}

/** Asks under the account's token. Throws as `askGraph`. */
export function ask(session: CloudContext, question: Omit<GraphQuestion, 'token'>): Promise<unknown> {
  const { deps, credentials } = session;
  return askGraph(deps.graph, {
    timeoutMs: deps.sendTimeoutMs,
    ...question,
    token: credentials.access_token,
  });
}

/** The access of transfers of media, which end with the session. */
export function accessOf({ deps, credentials, ended }: CloudContext): MediaAccess {
  const { access_token: token, phone_number_id: phoneNumberId } = credentials;
  return { graph: deps.graph, token, phoneNumberId, ended: ended.signal };
}

export function requireLive(session: CloudContext): void {
  if (session.phase !== 'live') throw new SendUnavailable('the session is not connected');
}

/** Ends the session, once. */
export function end(session: CloudContext, reason: DisconnectReason, words?: string): void {
  if (session.phase === 'ended') return;
  session.phase = 'ended';
  session.ended.abort();
  void session.handOver?.stop();
  session.sink.disconnected(reason, words);
}

const WORDS: Readonly<Record<string, string>> = {
  token_refused:
    'the network refuses the access token: it has expired or was withdrawn; give new credentials',
  permission_missing:
    'the access token lacks a permission, or the number is not among its assets; grant it, or give other credentials',
  number_pin_wrong: 'the network wants the two-step PIN of the number; register the number again',
  number_not_verified: 'the number has to be verified again',
  number_not_registered: 'the number is not registered with the Cloud API; register it',
  number_registered_too_often: 'the number was registered too often; try again in 72 hours',
};

/** The text that users read about refused credentials. */
export function wordsOf({ reason }: Verdict): string {
  return WORDS[reason] ?? 'the network refuses the credentials; give new ones';
}

/**
 * Ends or restricts the account where the verdict says so. `at`: when the network said it; a status may come days later,
 * when other credentials hold.
 */
export function heed(session: CloudContext, verdict: Verdict, at = session.deps.clock.now()): void {
  if (verdict.restriction) restrict(session, verdict.restriction, at);
  if (verdict.does === 'end' && at.getTime() >= session.beganAtMs)
    end(session, 'credentials_refused', wordsOf(verdict));
}

/** The reason for which the network refused; empty where it did not. */
export function reasonOf(cause: unknown): string {
  return cause instanceof GraphRefused ? verdictOf(cause.code, cause.subcode).reason : '';
}

/** The error of the port for what went wrong when something was sent to this chat. */
export function sendErrorOf(session: CloudContext, chat: string, cause: unknown): unknown {
  if (cause instanceof GraphUnreachable)
    return cause.mayHaveArrived
      ? new SendUnavailable(cause.message, { cause })
      : new SendDeferred('network_unreachable', { of: 'account', forMs: 5_000 });
  if (!(cause instanceof GraphRefused)) return cause;
  const verdict = verdictOf(cause.code, cause.subcode);
  heed(session, verdict);
  if (verdict.does === 'refuse') return new SendRefused(verdict.reason);
  // Nothing is lost with credentials: it waits for new ones.
  if (verdict.does === 'end') return new SendDeferred(verdict.reason);
  return new SendDeferred(verdict.reason, backOffOf(session, chat, verdict));
}

/** The error of the port for received media that the network does not give. */
export function downloadErrorOf(session: CloudContext, cause: unknown): unknown {
  // The next session asks again.
  if (session.phase === 'ended') return new NotConnected();
  if (!(cause instanceof GraphRefused)) return cause;
  const verdict = verdictOf(cause.code);
  if (verdict.reason === 'token_refused') {
    heed(session, verdict);
    // It waits for the next token: the network keeps it for seven days.
    return new NotConnected();
  }
  if (verdict.does === 'refuse') return new SendRefused('media_expired');
  // Not the end of the session: a permission that media alone lack would end each one again.
  return new SendUnavailable('the network does not give the media now', { cause });
}

function backOffOf({ failures, deps }: CloudContext, chat: string, verdict: Verdict): BackOff {
  const of = verdict.does === 'defer_chat' ? 'chat' : 'account';
  const held = of === 'chat' ? chat : '';
  const nowMs = deps.clock.now().getTime();
  const { count, untilMs } = failures.get(held) ?? { count: 0, untilMs: 0 };
  // Up to `window` sends meet one limit at the same moment: together they are one failure.
  if (untilMs > nowMs) return { of, forMs: untilMs - nowMs };
  const forMs = backOffMs(verdict, count);
  failures.set(held, { count: count + 1, untilMs: nowMs + forMs });
  return { of, forMs };
}

/** The network took something: what had failed there counts from the beginning. */
export function succeeded({ failures, deps }: CloudContext, chat: string): void {
  failures.delete(chat);
  // A send that was under way when the account's limit was met says nothing about later sends.
  const nowMs = deps.clock.now().getTime();
  if ((failures.get('')?.untilMs ?? 0) <= nowMs) failures.delete('');
}
