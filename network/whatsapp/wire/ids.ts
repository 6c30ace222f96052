/** Ids as senders choose them: of messages, and of whatever messages name. */

/** An id that can be kept and be asked for: the store takes no other characters in its keys, and no long ones. */
const ID = /^[\x21-\x7e]{1,128}$/;

export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}
