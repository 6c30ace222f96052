import { useEffect, useState } from 'react';

/** Gives the focus back to where it was before this came, once this is gone: whoever uses the keyboard keeps their place. */
export function useFocusBack(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // After the dialog has let go of it.
      setTimeout(() => before instanceof HTMLElement && before.focus({ preventScroll: true }));
    },
    [before],
  );
}
