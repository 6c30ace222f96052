/** Where the focus is, and which elements are around it. */
interface Place {
  element: Element;
  /** The dialog or the page that it belongs to. */
  root: Element;
  /** Its parents from the nearest one up to the root, with the position of the child in each. */
  parents: readonly { parent: Element; at: number }[];
  pathname: string;
}

const ROOTS = '[role="dialog"], main';
/** No fields for text: on a phone they would open the keyboard. */
const CONTROLS =
  'a[href], button:not(:disabled), input:is([type="radio"], [type="checkbox"]):not(:disabled), audio, video, [tabindex="0"]';
/** Dialogs and pages move the focus themselves, a moment after they appear or go. */
const SETTLED_MS = 100;

/**
 * Keeps the place of keyboard users. Browsers drop the focus when its element is removed or disabled, as a button is
 * while it works, and the next Tab would begin at the top of the page. Here the focus returns to the element once it is
 * enabled, or goes to what took its place.
 */
export function keepFocus(): void {
  let places: readonly Place[] = [];
  let isLooking = false;

  function onFocus({ target }: FocusEvent): void {
    const root = target instanceof Element && target.closest(ROOTS);
    if (!root) return;
    const others = places.filter((place) => place.root !== root && place.root.isConnected);
    places = [placeOf(target, root), ...others];
  }
  function onBlur({ target }: FocusEvent): void {
    setTimeout(() => {
      // The user left it, e.g. by a click on the background.
      if (isLost() && target instanceof Element && isUsable(target))
        places = places.filter(({ element }) => element !== target);
    });
  }
  function look(): void {
    isLooking = false;
    const place = places.find(({ root }) => root.isConnected);
    if (isLost() && place?.pathname === location.pathname) elementFor(place)?.focus({ preventScroll: true });
  }
  function onChange(): void {
    if (isLooking || places.length === 0 || !isLost()) return;
    isLooking = true;
    setTimeout(look, SETTLED_MS);
  }

  document.addEventListener('focusin', onFocus);
  document.addEventListener('focusout', onBlur);
  const watched = { childList: true, subtree: true, attributeFilter: ['disabled'] };
  new MutationObserver(onChange).observe(document.body, watched);
}

function isLost(): boolean {
  return document.activeElement === document.body;
}

function isUsable(element: Element): boolean {
  return element.isConnected && !element.matches(':disabled');
}

function placeOf(element: Element, root: Element): Place {
  const parents: { parent: Element; at: number }[] = [];
  for (let child = element; child !== root && child.parentElement; child = child.parentElement)
    parents.push({ parent: child.parentElement, at: [...child.parentElement.children].indexOf(child) });
  return { element, root, parents, pathname: location.pathname };
}

/** The element itself, or the nearest control after or before the place that it had; none while it is disabled. */
function elementFor({ element, root, parents }: Place): HTMLElement | null {
  if (element.isConnected) return isUsable(element) ? (element as HTMLElement) : null;
  for (const { parent, at } of parents) {
    if (!parent.isConnected) continue;
    const children = [...parent.children];
    for (const child of [...children.slice(at), ...children.slice(0, at).reverse()]) {
      const found = child.matches(CONTROLS) ? child : child.querySelector(CONTROLS);
      if (found) return found as HTMLElement;
    }
  }
  return root.querySelector<HTMLElement>('h1');
}
