const ASK_EVERY_MS = 100;
const ASKED_MAX = 20;

/**
 * A step back in the history ends on the link by which the user left the page, as in plain documents, so that reading
 * one row after the other does not begin at the top each time. The page takes the focus to its heading first, and its
 * rows may come later.
 */
export function returnToLinks(): void {
  const left = new Map<string, string>();
  function onClick({ target }: MouseEvent): void {
    const href = target instanceof Element && target.closest('main a[href]')?.getAttribute('href');
    if (href) left.set(address(), href);
  }
  // Before the router sees it, and changes the address.
  document.addEventListener('click', onClick, { capture: true });
  addEventListener('popstate', () => {
    const href = left.get(address());
    if (href) goTo(href, address());
  });
}

function address(): string {
  return location.pathname + location.search;
}

function goTo(href: string, page: string, asked = 0): void {
  // Not under the hands of somebody who has moved on.
  if (asked === ASKED_MAX || address() !== page || !document.activeElement?.matches('body, h1, main a'))
    return;
  const link = document.querySelector<HTMLElement>(`main a[href="${CSS.escape(href)}"]`);
  if (link && document.activeElement.matches('h1')) link.focus({ preventScroll: true });
  else setTimeout(goTo, ASK_EVERY_MS, href, page, asked + 1);
}
