/**
 * Whether the network takes messages to people by their numbers or by their anonymous ids. That depends on the account:
 * one that was moved to ids is refused by numbers (463, and 479 for a status), another by ids (400), and the network
 * does not say which kind it is. So after such a refusal the message is sent by the other names, and the names that the
 * network accepted are remembered. A refused message went to nobody: it may be encrypted anew under its id.
 */
import { isGroupJid, isUserJid, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { SendRefused } from '@posthorn/core/network/driver.ts';
import { KINDS } from './keys.ts';
import type { LibrarySocket } from './library-types.ts';
import type { SharedKeys } from './shared-keys.ts';
import { withoutDevice } from './wire/jids.ts';

export type Names = 'numbers' | 'ids';

export interface Addressing {
  /** The names that the network accepted last. */
  names(): Promise<Names>;
  /** Whether the other names may be tried: not for ten minutes after they were refused as well. */
  mayTryOthers(): boolean;
  /** The network has taken a message by these names. */
  taken(names: Names): void;
  /** The network has refused a message by both. */
  refusedByBoth(): void;
}

const ROW = 'me';
const AGAIN_MS = 10 * 60_000;

export function createAddressing(keys: SharedKeys, nowMs: () => number): Addressing {
  let current: Names | undefined;
  let refusedAtMs = Number.NEGATIVE_INFINITY;

  return {
    async names() {
      current ??= (await keys.read(KINDS.addressing, [ROW])).get(ROW) === 'ids' ? 'ids' : 'numbers';
      return current;
    },
    mayTryOthers: () => nowMs() - refusedAtMs >= AGAIN_MS,
    taken(names) {
      if (names === current) return;
      current = names;
      keys.writeLater([{ kind: KINDS.addressing, id: ROW, value: names }]);
    },
    refusedByBoth() {
      refusedAtMs = nowMs();
    },
  };
}

export function otherNames(names: Names): Names {
  return names === 'ids' ? 'numbers' : 'ids';
}

/** Whether the network may take, by the other names, a message that it has refused. */
export function mayOtherNamesHelp(to: string, names: Names, err: unknown): err is SendRefused {
  if (!(err instanceof SendRefused)) return false;
  const isInvalid = err.reason === 'invalid_message';
  if (to === STATUS_BROADCAST) return isInvalid;
  return isUserJid(to) && (err.reason === 'new_chats_limited' || (names === 'ids' && isInvalid));
}

/** The reason of a message that names people of its group otherwise than the group does now. */
export const STALE_GROUP = 'group_addressing_changed';

/** Whether the group has moved from numbers to ids, or back: the network says so, and tells the new members when asked. */
export function isStaleGroup(to: string, err: unknown): boolean {
  return isGroupJid(to) && err instanceof SendRefused && err.reason === STALE_GROUP;
}

/** The name of a chat on the wire; the number where the person's anonymous id is not known. */
export async function wireName(socket: LibrarySocket, chat: string, names: Names): Promise<string> {
  if (names === 'numbers' || !isUserJid(chat)) return chat;
  return (await socket.signalRepository.lidMapping.getLIDForPN(chat).catch(() => null)) ?? chat;
}

/** The names of many people on the wire, see {@link wireName}. */
export async function wireNames(
  socket: LibrarySocket,
  jids: readonly string[],
  names: Names,
): Promise<string[]> {
  if (names === 'numbers') return [...jids];
  const { lidMapping } = socket.signalRepository;
  const known = (await lidMapping.getLIDsForPNs(jids.filter(isUserJid)).catch(() => null)) ?? [];
  const ids = new Map(known.map(({ pn, lid }) => [withoutDevice(pn), lid]));
  return jids.map((jid) => ids.get(jid) ?? jid);
}
