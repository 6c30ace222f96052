/** The parts of messages that an inbox knows (`inbox.ts`): incoming ones, decrypted ones, and recorded ones. */
import { KINDS } from './keys.ts';
import type { ListRecipient } from './library-group-types.ts';
import type { SharedKeys } from './shared-keys.ts';

/** Statements of a part's stanza about it. */
export interface Announced {
  attrs: Record<string, string>;
  recipients?: ListRecipient[] | undefined;
  /** Nobody misses it if it cannot be opened: apps show nothing in its place. */
  isHidden?: boolean;
}

/** One decrypted part of a message. */
export interface Plain extends Announced {
  bytes: Uint8Array;
  /** Increases from part to part, also across sessions. Absent in data stored by an older version. */
  turn?: number;
}

/** Recorded texts are kept this long: the network may repeat a message if the acknowledgement was lost. */
const KEEP_MS = 5 * 60_000;
const SWEEP_MS = 60_000;
/**
 * In a flood, only this much of them: their acknowledgements left long ago. One that is repeated nevertheless cannot be
 * opened again, is asked for, and is then dropped by its id.
 */
const KEEP_MAX = 2_000;
const KEEP_BYTES_MAX = 2 * 1024 * 1024;

export type Parts = ReturnType<typeof createParts>;

export function createParts(keys: SharedKeys, nowMs: () => number) {
  /** Decrypted parts, by the hash of their cipher text. */
  const plains = new Map<string, Plain>();
  /** Incoming parts, by the hash of their cipher text. */
  const announced = new Map<string, Announced>();
  const partsOf = new Map<string, string[]>();
  /** Decrypted messages that the library has not emitted yet, the oldest first. */
  const unclaimed = new Map<string, number>();
  const recorded: { ids: string[]; bytes: number; atMs: number }[] = [];
  let recordedBytes = 0;
  let sweptAtMs = nowMs();
  let lastTurn = 0;
  function done(messageId: string): void {
    unclaimed.delete(messageId);
    const ids = partsOf.get(messageId);
    if (!ids) return;
    partsOf.delete(messageId);
    const bytes = ids.reduce((sum, id) => sum + (plains.get(id)?.bytes.byteLength ?? 0), 0);
    recorded.push({ ids, bytes, atMs: nowMs() });
    recordedBytes += bytes;
  }

  /** The library fails on some messages without emitting them: their text would never be dropped. */
  function giveUpUnclaimed(now: number): void {
    for (const [messageId, atMs] of unclaimed) {
      if (now - atMs <= KEEP_MS) return;
      done(messageId);
    }
  }

  return {
    plains,
    announced,
    nextTurn(): number {
      lastTurn = Math.max(lastTurn + 1, nowMs());
      return lastTurn;
    },
    remember(id: string, plain: Plain): void {
      lastTurn = Math.max(lastTurn, plain.turn ?? 0);
      plains.set(id, plain);
      const messageId = plain.attrs.id ?? '';
      partsOf.set(messageId, [...(partsOf.get(messageId) ?? []), id]);
      unclaimed.delete(messageId);
      unclaimed.set(messageId, nowMs());
    },
    claim: (messageId: string) => unclaimed.delete(messageId),
    recipientsOf: (messageId: string) => plains.get(partsOf.get(messageId)?.[0] ?? '')?.recipients,
    done,
    /** Removes many in one write: a row kept too long only costs a repeat, which the owner drops. */
    sweep(): void {
      const now = nowMs();
      const isMuch = recorded.length > KEEP_MAX || recordedBytes > KEEP_BYTES_MAX;
      if (now - sweptAtMs < SWEEP_MS && !isMuch) return;
      sweptAtMs = now;
      giveUpUnclaimed(now);
      const gone: string[] = [];
      for (let [oldest] = recorded; oldest; [oldest] = recorded) {
        // Half of the most, so that a flood removes many in one write.
        const isTooMuch = isMuch && (recorded.length > KEEP_MAX / 2 || recordedBytes > KEEP_BYTES_MAX / 2);
        if (!isTooMuch && now - oldest.atMs <= KEEP_MS) break;
        recorded.shift();
        recordedBytes -= oldest.bytes;
        gone.push(...oldest.ids);
      }
      if (gone.length === 0) return;
      for (const id of gone) plains.delete(id);
      // At worst the rows are handed over again.
      keys.writeLater(gone.map((id) => ({ kind: KINDS.plain, id, value: null })));
    },
  };
}
