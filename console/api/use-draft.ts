import { useEffect, useRef, useState } from 'react';
import { useAuth, useUser } from './api-context.ts';

/**
 * The state of a form, which outlives the end of the session: after a new sign-in the user finds the form unchanged,
 * its idempotency key included. Leaving the page otherwise drops it, unless it `staysOpen`: one turns to another chat and
 * back while one writes.
 */
export function useDraft<T>(
  form: string,
  first: T | (() => T),
  { staysOpen = false } = {},
): [T, (next: T) => void] {
  const { drafts, state } = useAuth();
  const name = `${useUser().user_id} ${form}`;
  const [value, setValue] = useState<T>(
    () => (drafts.get(name) as T | undefined) ?? (first instanceof Function ? first() : first),
  );
  const last = useRef(value);
  useEffect(() => {
    last.current = value;
  }, [value]);
  useEffect(() => {
    drafts.delete(name);
    return () => {
      const { ended } = state();
      if (ended === 'expired' || (staysOpen && ended === null)) drafts.set(name, last.current);
    };
  }, [drafts, state, name, staysOpen]);
  return [value, setValue];
}
