/**
 * The devices that people have. The library keeps them for some minutes under each name of a person, hears of changes
 * under one name alone, and of those of the account itself not at all: a new device would miss what is sent meanwhile.
 */
import type { LibrarySocket, WireNode } from './library-types.ts';
import { ownJid, ownLid, type WhatsAppContext } from './session-context.ts';
import { userOf } from './wire/jids.ts';
import { childOf, childrenOf } from './wire/nodes.ts';

/** Somebody has linked or removed a device: all of them are asked for with the next message. */
export function onDevices(socket: LibrarySocket, { attrs }: WireNode): void {
  const { mappingCache } = socket.signalRepository.lidMapping;
  for (const jid of [attrs.from, attrs.lid]) {
    const user = userOf(jid ?? '');
    forget(socket, [user, mappingCache.get(`pn:${user}`), mappingCache.get(`lid:${user}`)]);
  }
}

/** The account itself has linked or removed one. */
export function onOwnDevices(session: WhatsAppContext, socket: LibrarySocket, node: WireNode): void {
  if (childOf(node, 'devices')) forget(socket, [userOf(ownJid(session)), userOf(ownLid(session))]);
}

/** Takes errors about the devices of single people out of an answer: the library would read nothing of the others. */
export function dropDeviceErrors(frame: unknown): void {
  const iq = frame as WireNode;
  const list = iq.tag === 'iq' ? childOf(childOf(iq, 'usync'), 'list') : undefined;
  for (const user of childrenOf(list)) {
    const devices = childOf(user, 'devices');
    if (childOf(devices, 'error')) user.content = childrenOf(user).filter((each) => each !== devices);
  }
}

function forget({ userDevicesCache }: LibrarySocket, users: readonly (string | undefined)[]): void {
  for (const user of users) if (user) userDevicesCache.del(user);
}
