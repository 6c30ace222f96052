/**
 * Keeps what is read of a group: its members to encrypt for, its timer, and its admins. The library asks for the
 * members with each message, and the network refuses those who ask often (`rate-overlimit`): then nothing more can be
 * sent to any group for a while.
 */
import type { LibraryGroup, SendGroup } from './library-group-types.ts';

export interface CachedGroup extends SendGroup {
  admins: { id: string; phoneNumber?: string | null | undefined }[];
}

export interface GroupCache {
  /** The group `jid` as it was last told, else as the network answers now. Rejects as the question does. */
  read(jid: string): Promise<CachedGroup>;
  /** The same for questions that others can cause as often as they like: null for a minute after one has failed. */
  readForOthers(jid: string): Promise<CachedGroup | null>;
  /** Something has changed in the group, or the network refused a message to it: it is asked for again. */
  changed(jid: string): void;
}

/** As long as the library knows the devices of a member: a change that nobody told is seen then. */
const FRESH_MS = 5 * 60_000;
const ASKED_AGAIN_MS = 60_000;
/** Members of all groups together, of which each takes about 100 bytes; the group itself counts as one. */
const MEMBERS_MAX = 10_000;

/** `ask` asks the network. */
export function createGroupCache(
  ask: (jid: string) => Promise<LibraryGroup>,
  nowMs: () => number,
): GroupCache {
  /** The one asked for last is the last one; null: the network did not tell it. */
  const groups = new Map<string, { group: CachedGroup | null; atMs: number }>();
  let members = 0;
  /** An answer that was on its way while something changed may be of before. */
  let changes = 0;
  let idle: NodeJS.Timeout | null = null;

  function remove(jid: string): void {
    const known = groups.get(jid);
    if (known) members -= membersOf(known.group);
    groups.delete(jid);
  }

  function clear(): void {
    idle = null;
    groups.clear();
    members = 0;
  }

  function put(jid: string, group: CachedGroup | null): void {
    remove(jid);
    groups.set(jid, { group, atMs: nowMs() });
    members += membersOf(group);
    while (members > MEMBERS_MAX) remove(groups.keys().next().value!);
    idle ??= setTimeout(clear, FRESH_MS).unref();
    idle.refresh();
  }

  async function readOr(jid: string, askNow: typeof ask): Promise<CachedGroup> {
    const known = groups.get(jid);
    if (known?.group && nowMs() - known.atMs < FRESH_MS) return known.group;
    const before = changes;
    const group = cachedPartOf(await askNow(jid));
    if (changes === before) put(jid, group);
    return group;
  }

  return {
    read: (jid) => readOr(jid, ask),
    async readForOthers(jid) {
      const known = groups.get(jid);
      if (known?.group === null && nowMs() - known.atMs < ASKED_AGAIN_MS) return null;
      return readOr(jid, () =>
        ask(jid).catch((err) => {
          put(jid, null);
          throw err;
        }),
      );
    },
    changed(jid) {
      changes += 1;
      remove(jid);
    },
  };
}

function membersOf(group: CachedGroup | null): number {
  return 1 + (group?.participants.length ?? 0);
}

function cachedPartOf({ id, participants, addressingMode, ephemeralDuration }: LibraryGroup): CachedGroup {
  const members = participants ?? [];
  return {
    ...{ id, addressingMode, ephemeralDuration },
    participants: members.map((member) => ({ id: member.id })),
    admins: members
      .filter(({ admin }) => admin === 'admin' || admin === 'superadmin')
      .map((member) => ({ id: member.id, phoneNumber: member.phoneNumber })),
  };
}
