import { v7 } from 'uuid';

/** The text form of a UUID of any version. */
export const UUID_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID_FORM.test(text);
}

/** A time-ordered UUID: rows inserted together stand together in the index. */
export function newId(): string {
  return v7();
}

/** Below every id of {@link newId} that is made from this time on. */
export function firstIdAt(time: Date): string {
  return uuidOfHex(`${time.getTime().toString(16).padStart(12, '0')}70008000000000000000`);
}

/**
 * The network's id of an outbound message: the 32 upper-case hex digits of its UUID.
 *
 * Derived, never drawn: a send repeated after a crash carries the same id and the network drops
 * the duplicate. Reversible, so a receipt finds its row by the primary key and outbound rows need no
 * second index (see docs/decisions/0003-network-ids.md).
 */
export function networkIdOf(messageId: string): string {
  return messageId.replaceAll('-', '').toUpperCase();
}

/** The UUID behind a network id made by {@link networkIdOf}; null for an id that is not of that form. */
export function messageIdOf(networkId: string): string | null {
  if (!/^[0-9A-F]{32}$/.test(networkId)) return null;
  return uuidOfHex(networkId.toLowerCase());
}

/** The UUID of 32 hex digits. */
export function uuidOfHex(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
