/** Work by chat: within a chat one after the other, in different chats side by side. */
export interface Lanes {
  /** How much waits or is under way. */
  readonly size: number;
  /** Whether something of this chat waits or is under way. */
  has(chat: string): boolean;
  /** `work` must not reject. */
  push(chat: string, work: () => Promise<void>): void;
  /** Resolves when something that was pushed has ended; at once when nothing is left. */
  progress(): Promise<void>;
}

/** At most `width` chats are worked on at the same time, in turns: a chat with much to do delays no other. */
export function createLanes(width: number): Lanes {
  const waiting = new Map<string, (() => Promise<void>)[]>();
  /** Chats with work of which none is under way. */
  const ready: string[] = [];
  let size = 0;
  let underWay = 0;
  let ended = Promise.withResolvers<void>();

  function begin(): void {
    while (underWay < width) {
      const chat = ready.shift();
      if (chat === undefined) return;
      underWay += 1;
      const work = waiting.get(chat)!.shift()!;
      void work().finally(() => end(chat));
    }
  }

  function end(chat: string): void {
    underWay -= 1;
    size -= 1;
    if (waiting.get(chat)!.length > 0) ready.push(chat);
    else waiting.delete(chat);
    ended.resolve();
    ended = Promise.withResolvers();
    begin();
  }

  return {
    get size() {
      return size;
    },
    has: (chat) => waiting.has(chat),
    push(chat, work) {
      size += 1;
      const others = waiting.get(chat);
      if (others) others.push(work);
      else {
        waiting.set(chat, [work]);
        ready.push(chat);
      }
      begin();
    },
    progress: () => (size === 0 ? Promise.resolve() : ended.promise),
  };
}
