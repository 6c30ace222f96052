/** Ids chosen by senders: of messages, and of references in messages. */

/**
 * An id that can be stored and looked up: the store accepts only these characters in its keys, and no long
 * keys.
 */
const ID = /^[\x21-\x7e]{1,128}$/;

export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}
