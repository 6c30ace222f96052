/**
 * Writes a session's keys in shared commits: changes that arrive while a write is under way go into the next one. Reads
 * see changes that are not stored yet, so work may continue before its changes are durable.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { SessionKey, SessionKeys } from '@posthorn/core/network/driver.ts';
import { rowName } from './keys.ts';

export interface SharedKeys extends SessionKeys {
  /**
   * As in the port. `onStored` is called when the changes are durable, in the order of the calls and before
   * anything that waits for the write goes on.
   */
  write(changes: readonly SessionKey[], onStored?: () => void): Promise<void>;
  /**
   * Runs `work` with writes that resolve at once. They are stored before or together with the next write, and
   * if that fails nothing more is stored.
   */
  collect<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when all that was collected is durable; rejects if it could not be stored. */
  stored(): Promise<void>;
  /** Stores the changes within about a second. They may be lost. */
  writeLater(changes: readonly SessionKey[]): void;
  /** Rejects further writes, and resolves when those under way are done. Changes nobody waits for are dropped. */
  close(): Promise<void>;
}

/** The changes of one write. */
interface Part {
  kind: 'awaited' | 'collected' | 'later';
  changes: readonly SessionKey[];
  stored: PromiseWithResolvers<void>;
  onStored: (() => void) | undefined;
}

const LATER_MS = 1_000;
/** Changes in one commit. */
const COMMIT_MAX = 1_000;

/** `onBroken` is called when collected changes could not be stored. */
export function createSharedKeys(keys: SessionKeys, onBroken: (err: unknown) => void): SharedKeys {
  const collecting = new AsyncLocalStorage<{ isOpen: boolean }>();
  const line = createLine(keys, onBroken);
  let later: NodeJS.Timeout | null = null;
  let isClosed = false;

  function flush(): void {
    if (later) clearTimeout(later);
    later = null;
    line.flush();
  }

  return {
    async read(kind, ids) {
      const known = line.unstored(kind, ids);
      const names = ids?.filter((id) => !known.has(id));
      const rows = names?.length === 0 ? new Map<string, unknown>() : await keys.read(kind, names);
      for (const [id, value] of known) {
        if (value === null) rows.delete(id);
        else rows.set(id, value);
      }
      return rows;
    },
    async write(changes, onStored) {
      if (isClosed) throw new Error('the session has ended');
      if (collecting.getStore()?.isOpen) {
        void line.add('collected', changes, onStored);
        return;
      }
      const stored = line.add('awaited', changes, onStored);
      flush();
      await stored;
    },
    async collect(work) {
      const context = { isOpen: true };
      try {
        return await collecting.run(context, work);
      } finally {
        // Writes that the work has started and not awaited are then stored as usual.
        context.isOpen = false;
      }
    },
    async stored() {
      if (isClosed) throw new Error('the session has ended');
      const stored = line.add('awaited', []);
      flush();
      await stored;
    },
    writeLater(changes) {
      if (isClosed || changes.length === 0) return;
      void line.add('later', changes);
      later ??= setTimeout(flush, LATER_MS).unref();
    },
    async clear() {
      await line.idle();
      await keys.clear();
    },
    async close() {
      isClosed = true;
      if (later) clearTimeout(later);
      line.dropUnawaited();
      await line.idle();
    },
  };
}

/** The changes that wait to be stored, in order, and the one commit that is under way. */
function createLine(keys: SessionKeys, onBroken: (err: unknown) => void) {
  const waiting: Part[] = [];
  /** The newest change of each key that is not durable yet. */
  const newest = new Map<string, { change: SessionKey; part: Part }>();
  let writing: Promise<void> | null = null;
  /**
   * How many of `waiting` the last flush asked to store and are not begun with. Those behind them wait for the next
   * flush.
   */
  let due = 0;
  /** Why nothing more may be stored. */
  let broken: { err: unknown } | null = null;

  async function writeAll(): Promise<void> {
    while (due > 0) {
      const parts = takeCommit(waiting);
      due = Math.max(0, due - parts.length);
      await commit(parts);
    }
    writing = null;
  }

  async function commit(parts: readonly Part[]): Promise<void> {
    try {
      if (broken) throw broken.err;
      const changes = parts.flatMap((part) => part.changes);
      if (changes.length > 0) await keys.write(changes);
      for (const part of parts) settle(part);
    } catch (err) {
      if (parts.length === 1) settle(parts[0]!, { err });
      // Each part alone: a change that the database refuses then fails only its own part.
      else for (const part of parts) await commit([part]);
    }
  }

  function settle(part: Part, failure?: { err: unknown }): void {
    for (const { kind, id } of part.changes) {
      const name = rowName(kind, id);
      if (newest.get(name)?.part === part) newest.delete(name);
    }
    if (!failure) {
      part.onStored?.();
      part.stored.resolve();
      return;
    }
    part.stored.reject(failure.err);
    if (part.kind !== 'collected' || broken) return;
    broken = failure;
    onBroken(failure.err);
  }

  return {
    /** Resolves when the changes are durable, which is some time after the next `flush`. */
    add(kind: Part['kind'], changes: readonly SessionKey[], onStored?: () => void): Promise<void> {
      const part: Part = { kind, changes, stored: Promise.withResolvers<void>(), onStored };
      // Only awaited changes have a caller that hears of a failure.
      part.stored.promise.catch(() => undefined);
      waiting.push(part);
      for (const change of changes) newest.set(rowName(change.kind, change.id), { change, part });
      return part.stored.promise;
    },
    flush(): void {
      due = waiting.length;
      if (writing === null && due > 0) writing = writeAll();
    },
    /** The values of a kind that are not durable yet, by id. */
    unstored(kind: string, ids: readonly string[] | undefined): Map<string, unknown> {
      const found = ids
        ? ids.flatMap((id) => newest.get(rowName(kind, id)) ?? [])
        : [...newest.values()].filter(({ change }) => change.kind === kind);
      return new Map(found.map(({ change }) => [change.id, change.value]));
    },
    /** Drops changes that wait for a commit, unless a caller waits for it. */
    dropUnawaited(): void {
      if (waiting.some(({ kind }) => kind === 'awaited')) this.flush();
      else due = waiting.length = 0;
    },
    idle: async () => writing,
  };
}

/** Takes the oldest parts, as many as fit into one commit. */
function takeCommit(waiting: Part[]): Part[] {
  let changes = 0;
  const end = waiting.findIndex((part, at) => {
    changes += part.changes.length;
    return at > 0 && changes > COMMIT_MAX;
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}
