import { useRef } from 'react';
import { useDraft } from './use-draft.ts';

/**
 * The one key of a form: however often it is submitted, by a second click or after an answer that was lost, the message
 * is sent once. Another content needs another key: the form calls `changed` with its mutation, which has `handlers`.
 */
export function useIdempotencyKey(form: string) {
  const [key, setKey] = useDraft(`${form} key`, newKey);
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
    /** A send under way goes on, and is not made again. */
    changed(send: { isPending: boolean; isIdle: boolean; reset(): void }) {
      if (send.isPending) isOther.current = true;
      else if (!send.isIdle) {
        renew();
        send.reset();
      }
    },
  };
}

/** `randomUUID` exists under https and on localhost alone. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
