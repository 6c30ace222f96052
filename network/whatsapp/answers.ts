/** The network's answers to sends: those awaited, those that came, and those nobody waits for any more. */
import { NotConnected, SendDeferred, SendRefused, SendUnavailable } from '@posthorn/core/network/driver.ts';
import { STALE_GROUP } from './addressing.ts';
import type { WireNode } from './library-types.ts';
import type { Patience } from './patience.ts';
import { dateOfSeconds } from './wire/numbers.ts';

/** The network's refusals by code; all others are `refused_by_network`. */
const REFUSALS: Readonly<Record<string, string>> = {
  '400': 'invalid_message',
  '401': 'not_allowed',
  '403': 'not_allowed',
  '404': 'recipient_not_found',
  '405': 'not_allowed',
  '406': 'not_allowed',
  '420': 'not_allowed',
  '421': STALE_GROUP,
  '463': 'new_chats_limited',
  '475': 'new_chats_capped',
  '479': 'invalid_message',
};
/** Codes that mean the network cannot take the message now. */
const DEFERRALS: ReadonlySet<string> = new Set(['429', '500', '503']);

export interface Expected {
  /** Rejects with SendRefused, SendDeferred, SendUnavailable, or SendUnanswered. */
  answer: Promise<Date>;
  /** Its bytes are being sent. */
  sent(): void;
  /** Its bytes cannot be sent. */
  fail(cause: unknown): void;
}

export interface Answers {
  /**
   * Begins to wait for an answer. Only a send that is `repeated` can end as unanswered. Throws SendUnanswered for
   * one that may not be sent any more, and NotConnected when the connection has ended.
   */
  expect(id: string, options: { repeated: boolean }): Expected;
  /** The answer to this send if it is awaited already, or has come, perhaps after the send had failed. */
  known(id: string): Promise<Date> | undefined;
  /**
   * Handles the network's `ack`, with or without an error. Returns the time if it proves that a send was taken
   * that had ended as unanswered.
   */
  hear(attrs: WireNode['attrs']): Date | undefined;
  /** The outcomes of these sends are recorded. */
  forget(ids: readonly string[]): void;
  /** The connection has ended. */
  end(): void;
}

interface Waiting {
  answer: Promise<Date>;
  resolve(at: Date): void;
  reject(err: Error): void;
  isSent: boolean;
  repeated: boolean;
}

export function createAnswers(deps: {
  /** A send without an answer for this long fails; it may be repeated. */
  timeoutMs: number;
  patience: Patience;
  now(): Date;
}): Answers {
  const { timeoutMs, patience } = deps;
  const waiting = new Map<string, Waiting>();
  const answered = new Map<string, Date | SendRefused>();
  let hasEnded = false;

  function onTimeout(id: string, { reject, repeated }: Waiting): void {
    if (repeated && patience.isOver(id)) reject(patience.giveUp(id));
    else reject(new SendUnavailable(`the network did not answer within ${timeoutMs} ms`));
  }

  return {
    expect(id, { repeated }) {
      if (hasEnded) throw new NotConnected('the session has ended');
      if (repeated && patience.isHopeless(id)) throw patience.giveUp(id);
      const { promise, resolve, reject } = Promise.withResolvers<Date>();
      let timer: NodeJS.Timeout | undefined;
      const answer = promise.finally(() => {
        clearTimeout(timer);
        if (waiting.get(id) === one) waiting.delete(id);
      });
      const one: Waiting = { answer, resolve, reject, repeated, isSent: false };
      waiting.set(id, one);
      // It may reject before anyone awaits it.
      answer.catch(() => undefined);
      return {
        answer,
        sent() {
          if (waiting.get(id) !== one) return;
          one.isSent = true;
          const leftMs = repeated ? patience.sent(id) : timeoutMs;
          timer = setTimeout(() => onTimeout(id, one), Math.min(timeoutMs, leftMs));
        },
        fail: (cause) => reject(new SendUnavailable('the message could not be sent', { cause })),
      };
    },
    known(id) {
      const answer = waiting.get(id)?.answer ?? answered.get(id);
      return answer instanceof Error ? Promise.reject(answer) : answer && Promise.resolve(answer);
    },
    hear({ id = '', error, t }) {
      const one = waiting.get(id);
      if (error && DEFERRALS.has(error)) {
        one?.reject(new SendDeferred('network_busy'));
        return undefined;
      }
      const at = dateOfSeconds(t, deps.now());
      const answer = error ? new SendRefused(REFUSALS[error] ?? 'refused_by_network') : at;
      if (patience.knows(id)) answered.set(id, answer);
      if (answer instanceof Date) one?.resolve(answer);
      else one?.reject(answer);
      return !error && patience.wasGivenUp(id) ? at : undefined;
    },
    forget(ids) {
      for (const id of ids) answered.delete(id);
      patience.forget(ids);
    },
    end() {
      hasEnded = true;
      for (const [id, { reject, isSent, repeated }] of waiting) {
        if (isSent && repeated) patience.cut(id);
        reject(new SendUnavailable('the session ended before the network answered'));
      }
      waiting.clear();
    },
  };
}
