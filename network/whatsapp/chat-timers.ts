/**
 * How long messages of a chat last. In a chat whose messages disappear, apps warn of a message without the chat's
 * timer, because it would stay.
 */
import { KINDS } from './keys.ts';
import type { SharedKeys } from './shared-keys.ts';

export interface ChatTimers {
  /** Seconds; 0: messages stay, or nothing is known. */
  of(chat: string): Promise<number>;
  /** Stores it within about a second, if it is another than before. */
  learn(chat: string, seconds: number): Promise<void>;
}

export function createChatTimers(keys: SharedKeys): ChatTimers {
  /**
   * The chats that have a timer. Loaded all at once: most chats have none, and a look for each message would cost a
   * read each.
   */
  let loading: Promise<Map<string, number>> | null = null;

  async function load(): Promise<Map<string, number>> {
    const rows = await keys.read(KINDS.timer);
    return new Map([...rows].map(([chat, seconds]) => [chat, Number(seconds)]));
  }

  function known(): Promise<Map<string, number>> {
    loading ??= load().catch((err) => {
      loading = null;
      throw err;
    });
    return loading;
  }

  return {
    of: async (chat) => (await known()).get(chat) ?? 0,
    async learn(chat, seconds) {
      const timers = await known();
      if ((timers.get(chat) ?? 0) === seconds) return;
      if (seconds > 0) timers.set(chat, seconds);
      else timers.delete(chat);
      keys.writeLater([{ kind: KINDS.timer, id: chat, value: seconds > 0 ? seconds : null }]);
    },
  };
}
