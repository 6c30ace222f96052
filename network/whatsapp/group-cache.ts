/**
 * Keeps what sending takes of a group. The library asks for the members of a group with each message to it, and the network
 * refuses those who ask often (`rate-overlimit`): then nothing more can be sent to any group for a while.
 */
import type { LibraryGroup, SendGroup } from './library-group-types.ts';

export interface GroupCache {
  /** The group `jid` as it was last told, else as `ask` answers. Rejects as `ask` does. */
  read(jid: string, ask: () => Promise<LibraryGroup>): Promise<SendGroup>;
  /** Something has changed in the group, or the network refused a message to it: it is asked for again. */
  changed(jid: string): void;
}

/** As long as the library knows the devices of a member: a change that nobody told is seen then. */
const FRESH_MS = 5 * 60_000;
/** Members of all groups together, of which each takes about 100 bytes. */
const MEMBERS_MAX = 10_000;

export function createGroupCache(nowMs: () => number): GroupCache {
  /** The one asked for last is the last one. */
  const groups = new Map<string, { group: SendGroup; atMs: number }>();
  let members = 0;
  /** An answer that was on its way while something changed may be of before. */
  let changes = 0;
  let idle: NodeJS.Timeout | null = null;

  function remove(jid: string): void {
    members -= groups.get(jid)?.group.participants.length ?? 0;
    groups.delete(jid);
  }

  function clear(): void {
    idle = null;
    groups.clear();
    members = 0;
  }

  function put(jid: string, group: SendGroup): void {
    remove(jid);
    groups.set(jid, { group, atMs: nowMs() });
    members += group.participants.length;
    while (members > MEMBERS_MAX) remove(groups.keys().next().value!);
    idle ??= setTimeout(clear, FRESH_MS).unref();
    idle.refresh();
  }

  return {
    async read(jid, ask) {
      const known = groups.get(jid);
      if (known && nowMs() - known.atMs < FRESH_MS) return known.group;
      const before = changes;
      const { id, participants, addressingMode, ephemeralDuration } = await ask();
      const group = {
        ...{ id, addressingMode, ephemeralDuration },
        participants: (participants ?? []).map((member) => ({ id: member.id })),
      };
      if (changes === before) put(jid, group);
      return group;
    },
    changed(jid) {
      changes += 1;
      remove(jid);
    },
  };
}
