import { useDraft } from './use-draft.ts';

/**
 * The one key of a form: however often it is submitted, by a second click or after an answer that was lost, the message
 * is sent once. Another content needs another key.
 */
export function useIdempotencyKey(form: string): { key: string; renew(): void } {
  const [key, setKey] = useDraft(`${form} key`, newKey);
  return { key, renew: () => setKey(newKey()) };
}

/** `randomUUID` exists under https and on localhost alone. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
