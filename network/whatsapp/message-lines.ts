/**
 * Received messages are recorded in one line, in the order of their arrival. A message whose media must be downloaded
 * first leaves that line, and what follows it in its chat joins it: nobody else waits for the download.
 */
import type { LibraryMessage } from './library-types.ts';
import { createPump, type Pump } from './pump.ts';
import { kindOf, unwrap } from './wire/content.ts';
import { chatOf, preferPhone } from './wire/jids.ts';

export interface MessageLines {
  /** Resolves when the message is recorded, together with those that came at the same time. */
  take(message: LibraryMessage): Promise<void>;
  /** Resolves when all that waits beside the main line now is recorded, or the session has ended; null: nothing waits. */
  beside(): Promise<unknown> | null;
  /** As {@link Pump.stop}, for the lines beside the main one, which ends before. */
  stop(): Promise<void>;
}

interface Line {
  pump: Pump;
  take(message: LibraryMessage): Promise<void>;
  /** Messages in it. */
  count: number;
}

/** The owner records as many at once. */
export const BATCH_MAX = 128;

/** Media, by the network's field names. */
const MEDIA: ReadonlySet<string> = new Set([
  'imageMessage',
  'videoMessage',
  'ptvMessage',
  'audioMessage',
  'documentMessage',
  'stickerMessage',
]);
/** Replies to a status look for it, and come in other chats. */
const NEVER_ALONE = 'status@broadcast';

export function createMessageLines(
  main: Pump,
  record: (messages: readonly LibraryMessage[]) => Promise<void>,
  onFailure: (err: unknown) => void,
): MessageLines {
  const takeInMain = main.inBatches(record, BATCH_MAX);
  const lines = new Map<string, Line>();
  /** Resolves when all that is in the main line is recorded, or the session has ended. */
  let before: Promise<unknown> = Promise.resolve();
  let isStopped = false;

  function open(chat: string): Line {
    const pump = createPump(onFailure);
    const line = { pump, take: pump.inBatches(record, BATCH_MAX), count: 0 };
    const ahead = before;
    pump.run(() => ahead.then(() => undefined)).catch(() => undefined);
    lines.set(chat, line);
    return line;
  }

  return {
    async take(message) {
      const chat = preferPhone(chatOf(message.key), message.key.remoteJidAlt);
      const isAlone = !isStopped && isSlow(message) && chat !== NEVER_ALONE;
      const line = lines.get(chat) ?? (isAlone ? open(chat) : null);
      if (!line) {
        const taken = takeInMain(message);
        before = taken.catch(() => undefined);
        return taken;
      }
      line.count += 1;
      try {
        await line.take(message);
      } finally {
        line.count -= 1;
        if (line.count === 0) lines.delete(chat);
      }
    },
    beside() {
      if (lines.size === 0) return null;
      return Promise.allSettled([...lines.values()].map(({ pump }) => pump.run(async () => undefined)));
    },
    async stop() {
      isStopped = true;
      await Promise.all([...lines.values()].map(({ pump }) => pump.stop()));
    },
  };
}

function isSlow({ message }: LibraryMessage): boolean {
  const kind = message && kindOf(unwrap(message).message);
  return kind !== null && kind !== undefined && MEDIA.has(kind);
}
