import { useRef } from 'react';
import { useDraft } from './use-draft.ts';

/**
 * The idempotency key of a form: the message is sent once, even after a second click or a lost answer. A changed
 * content needs a new key: the form calls `changed` with its mutation, which has `handlers`.
 */
export function useIdempotencyKey(form: string, options?: { staysOpen: boolean }) {
  const [key, setKey] = useDraft(`${form} key`, newKey, options);
  const isOther = useRef(false);
  const renew = () => setKey(newKey());
  return {
    key,
    renew,
    handlers: {
      onMutate() {
        isOther.current = false;
      },
      onError() {
        if (isOther.current) renew();
      },
    },
    /** A send in progress continues and is not made again. */
    changed(send: { isPending: boolean; isIdle: boolean; reset(): void }) {
      if (send.isPending) isOther.current = true;
      else if (!send.isIdle) {
        renew();
        send.reset();
      }
    },
  };
}

/** `randomUUID` exists only under https and on localhost. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
