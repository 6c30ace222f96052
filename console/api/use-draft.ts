import { useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import { useAuth, useUser } from './api-context.ts';

/** Takes the next value, or makes it of the present one. */
type SetDraft<T> = (next: T | ((now: T) => T)) => void;

/**
 * The state of a form, which outlives the end of the session: after a new sign-in the user finds the form unchanged,
 * its idempotency key included. Leaving the page otherwise drops it, unless it `staysOpen`: one turns to another chat and
 * back while one writes. A request that ends after the user left changes what stayed.
 */
export function useDraft<T>(
  form: string,
  first: T | (() => T),
  { staysOpen = false } = {},
): [T, SetDraft<T>] {
  const { drafts, state } = useAuth();
  const name = `${useUser().user_id} ${form}`;
  const [initial] = useState(first);
  const value = useSyncExternalStore(drafts.onChange, () =>
    drafts.has(name) ? (drafts.get(name) as T) : initial,
  );
  useEffect(() => {
    if (!drafts.has(name)) drafts.set(name, initial);
    return () => {
      const { ended } = state();
      if (ended !== 'expired' && !(staysOpen && ended === null)) drafts.drop(name);
    };
  }, [drafts, state, name, initial, staysOpen]);
  const setValue = useCallback<SetDraft<T>>(
    (next) => {
      if (!drafts.has(name)) return;
      drafts.set(name, next instanceof Function ? next(drafts.get(name) as T) : next);
    },
    [drafts, name],
  );
  return [value, setValue];
}
