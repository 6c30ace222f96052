import { lazyRouteComponent } from '@tanstack/react-router';

/** The window event for each time that the code of a page could not be fetched. */
export const CODE_IS_LATE = 'posthorn:code-is-late';
const ASK_AGAIN_AFTER_MS = 3_000;

/**
 * Fetches the code of a page and retries while the service does not answer. If the service answers without the code,
 * this page is of an earlier version: the error then makes the router load the newer one.
 */
function patient<T>(load: () => Promise<T>): () => Promise<T> {
  return async () => {
    for (;;) {
      try {
        return await load();
      } catch (error) {
        if (await isThere()) throw error;
        dispatchEvent(new Event(CODE_IS_LATE));
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_AFTER_MS));
      }
    }
  };
}

async function isThere(): Promise<boolean> {
  try {
    return (await fetch(document.baseURI, { method: 'HEAD', cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}

/** A page whose code is fetched when it is opened. */
export function lazyPage<T extends Record<string, unknown>, Key extends keyof T & string>(
  load: () => Promise<T>,
  name: Key,
) {
  return lazyRouteComponent(patient(load), name);
}
