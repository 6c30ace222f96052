import { useEffect, useRef, useState } from 'react';
import { useAuth, useUser } from './api-context.ts';

/**
 * The state of a form, which outlives the end of the session: after a new sign-in the user finds the form unchanged,
 * including its idempotency key. Leaving the page in any other way drops it.
 */
export function useDraft<T>(form: string, first: T | (() => T)): [T, (next: T) => void] {
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
      if (state().ended === 'expired') drafts.set(name, last.current);
    };
  }, [drafts, state, name]);
  return [value, setValue];
}
