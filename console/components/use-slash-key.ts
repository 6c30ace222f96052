import { type RefObject, useEffect, useRef } from 'react';

/** A ref for a field that the `/` key focuses, unless the user is typing elsewhere. */
export function useSlashKey(): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target } = event;
      const isTyping = target instanceof HTMLElement && /^(input|textarea|select)$/i.test(target.tagName);
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return field;
}
