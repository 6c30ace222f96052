import { useCanGoBack, useRouter } from '@tanstack/react-router';

/**
 * Closes what has an address of its own. It goes back to where that was opened, so that the back button does not open it
 * again; whoever came by its address alone goes `elsewhere`.
 */
export function useClose(elsewhere: () => void): () => void {
  const { history } = useRouter();
  const canGoBack = useCanGoBack();
  return () => (canGoBack ? history.back() : elsewhere());
}
