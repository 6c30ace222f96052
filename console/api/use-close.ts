import { useCanGoBack, useRouter } from '@tanstack/react-router';

/**
 * Closes a view that has its own address. It goes back to the page that opened the view, so that the back button does
 * not open it again. A user who came directly to the address goes `elsewhere`.
 */
export function useClose(elsewhere: () => void): () => void {
  const { history } = useRouter();
  const canGoBack = useCanGoBack();
  return () => (canGoBack ? history.back() : elsewhere());
}
