import { useState } from 'react';

/** The text of a field whose value is kept in the address: what is typed, until the address names another value. */
export function useAddressText(named: string | undefined): [text: string, type: (text: string) => void] {
  const [typed, setTyped] = useState({ over: named, text: named ?? '' });
  if (typed.over !== named) setTyped({ over: named, text: named ?? '' });
  return [typed.text, (text) => setTyped({ over: named, text })];
}
