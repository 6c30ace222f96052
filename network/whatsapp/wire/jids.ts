/**
 * Maps the network's addresses to ours: theirs may name a device, and may be anonymous ids instead of phones.
 */
import { isGroupJid, isLidJid, isUserJid, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { WireKey } from './wire-types.ts';

/** Other names of servers: `hosted` are the devices that Meta runs for businesses which also use the app. */
const SERVERS = new Map([
  ['c.us', 's.whatsapp.net'],
  ['hosted', 's.whatsapp.net'],
  ['hosted.lid', 'lid'],
]);

/** The address without the device: `5511...:12@s.whatsapp.net` is the person `5511...@s.whatsapp.net`. */
export function withoutDevice(jid: string): string {
  const at = jid.indexOf('@');
  if (at < 0) return jid;
  const user = jid.slice(0, at).split(':', 1)[0]!.split('_', 1)[0]!;
  const server = jid.slice(at + 1);
  return `${user}@${SERVERS.get(server) ?? server}`;
}

/** The part of an address that names the person. */
export function userOf(jid: string): string {
  return withoutDevice(jid).split('@', 1)[0]!;
}

/**
 * Chats we report: people, groups and statuses; no newsletters. A message that comes by a broadcast list is in the
 * chat with its sender.
 */
export function isOurChat(jid: string): boolean {
  return isUserJid(jid) || isGroupJid(jid) || isLidJid(jid) || jid === STATUS_BROADCAST;
}

/** A broadcast list of somebody: each of its recipients sees a message to it in the chat with its sender. */
export function isList(jid: string): boolean {
  return jid.endsWith('@broadcast') && jid !== STATUS_BROADCAST;
}

/** The chat in which a message is shown. */
export function chatOf({ remoteJid, participant }: WireKey): string {
  return (isList(remoteJid ?? '') ? participant : remoteJid) ?? '';
}

/** Chats we report, lists, and the network's own servers. */
export function mayMatter(jid: string): boolean {
  const plain = withoutDevice(jid);
  return isOurChat(plain) || isList(plain) || !plain.includes('@') || plain === 's.whatsapp.net';
}

/** Prefers the phone of a person's two names. Groups and statuses have one name. */
export function preferPhone(jid: string, other: string | null | undefined): string {
  const one = withoutDevice(jid);
  if (!isLidJid(one) || !other) return one;
  const two = withoutDevice(other);
  return isUserJid(two) ? two : one;
}
