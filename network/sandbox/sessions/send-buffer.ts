/**
 * Gathers all output of a tick, writes it to the journal at once, and sends one frame per session. So an ack
 * is never sent before it is in the file, and a delivery receipt is in the same frame as its ack.
 */
import type { SandboxLog } from '../log.ts';
import { leave } from '../state/account-session.ts';
import type { Journal } from '../state/journal.ts';
import type { PendingEvent, Session } from '../state/model.ts';
import type { World } from '../state/world.ts';

/**
 * Maximum events in one frame, and maximum unacked events in transit: a long absence is replayed in portions.
 */
const FRAME_EVENTS = 500;
const WINDOW_EVENTS = 2000;
/** Maximum characters of these events, or one event: the receiver holds them all in memory. */
const FRAME_CHARS = 1024 * 1024;
const WINDOW_CHARS = 16 * 1024 * 1024;
const RETRY_MS = 1000;

export interface Outbox {
  wake(session: Session): void;
  /** Schedules writing the journal at the end of this tick even if no session waits. */
  schedule(): void;
  flush(): void;
  stop(): void;
}

export function createOutbox(deps: { journal: () => Journal; world: () => World; log: SandboxLog }): Outbox {
  const waiting = new Set<Session>();
  let immediate: NodeJS.Immediate | undefined;
  let retry: NodeJS.Timeout | undefined;

  function flush() {
    clearImmediate(immediate);
    immediate = undefined;
    try {
      deps.journal().flush();
    } catch (error) {
      // Nothing may be acknowledged before it is in the file: everything waits until the file is writable
      // again.
      deps.log.error({ err: error }, 'writing the sandbox journal failed; holding back acks');
      retry ??= setTimeout(() => {
        retry = undefined;
        flush();
      }, RETRY_MS);
      return;
    }
    for (const session of waiting) {
      waiting.delete(session);
      writeFrame(deps.world(), session);
      if (hasMore(session)) waiting.add(session);
    }
  }

  function schedule() {
    if (!retry) immediate ??= setImmediate(flush);
  }

  return {
    wake(session) {
      waiting.add(session);
      schedule();
    },
    schedule,
    flush() {
      if (!retry) flush();
    },
    stop() {
      clearImmediate(immediate);
      clearTimeout(retry);
      waiting.clear();
    },
  };
}

function windowOf({ account, sentSeq, sentChars, phase }: Session): number {
  if (phase !== 'live' || !account || sentChars >= WINDOW_CHARS) return 0;
  return Math.min(FRAME_EVENTS, account.events.ackedSeq() + WINDOW_EVENTS - sentSeq);
}

function hasMore(session: Session): boolean {
  return (
    windowOf(session) > 0 && session.account !== null && session.account.events.lastSeq() > session.sentSeq
  );
}

function writeFrame(world: World, session: Session): void {
  if (session.phase === 'ended') return;
  const { account, acks } = session;
  const limit = windowOf(session);
  const events = account && limit > 0 ? firstChars(account.events.after(session.sentSeq, limit)) : [];
  if (acks.length > 0 || events.length > 0) {
    const eventsJson = events.length > 0 ? `"events":[${events.map((event) => event.json).join()}]` : '';
    const acksJson = acks.length > 0 ? `"acks":[${acks.join()}]` : '';
    session.acks = [];
    session.sentSeq = events.at(-1)?.seq ?? session.sentSeq;
    for (const { json } of events) session.sentChars += json.length;
    session.socket.send(`{"t":"flow",${acksJson}${acksJson && eventsJson ? ',' : ''}${eventsJson}}`);
    if (eventsJson && world.faults.repeatsEvents(session)) session.socket.send(`{"t":"flow",${eventsJson}}`);
  }
  if (session.cutAfterFlush) cutSessionOnceWritten(session);
}

function firstChars(events: PendingEvent[]): PendingEvent[] {
  let chars = 0;
  const end = events.findIndex(({ json }, i) => {
    chars += json.length;
    return i > 0 && chars > FRAME_CHARS;
  });
  return end < 0 ? events : events.slice(0, end);
}

/** Terminating immediately would drop the ack just passed to the socket. */
function cutSessionOnceWritten(session: Session) {
  leave(session);
  session.socket.ping(undefined, undefined, () => session.socket.terminate());
}
