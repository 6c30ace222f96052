import { useEffect, useRef, useState } from 'react';
import { useAuth, useUser } from './api-context.ts';

/**
 * The state of a form, which a session that ends meanwhile does not take along: whoever signs in again finds it as it was,
 * its idempotency key included. Leaving the page otherwise drops it.
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
