import { useEffect, useState } from 'react';

/** Returns the focus to its previous element when the component unmounts, so that keyboard users keep their place. */
export function useFocusBack(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // After the dialog has released the focus.
      setTimeout(() => before instanceof HTMLElement && before.focus({ preventScroll: true }));
    },
    [before],
  );
}
