import { useDraft } from './use-draft.ts';

/**
 * The idempotency key of a form: the message is sent once, even after a second click or a lost answer. A changed
 * content needs a new key once the present one has been used: the form calls `changed` with its mutation, which has
 * `handlers`. A send in progress continues with its own key.
 */
export function useIdempotencyKey(form: string, options?: { staysOpen: boolean }) {
  const [{ key, isUsed }, set] = useDraft(`${form} key`, unused, options);
  const renew = () => set(unused());
  return {
    key,
    renew,
    handlers: { onMutate: () => set({ key, isUsed: true }) },
    changed(send: { isPending: boolean; isIdle: boolean; reset(): void }) {
      if (isUsed) renew();
      if (!send.isPending && !send.isIdle) send.reset();
    },
  };
}

function unused() {
  return { key: newKey(), isUsed: false };
}

/** `randomUUID` exists only under https and on localhost. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
