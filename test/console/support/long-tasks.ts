import type { Page } from 'playwright-core';

/** From now on, records the length of each task that blocks the page for 50 ms or more. */
export async function watchLongTasks(page: Page): Promise<void> {
  await page.evaluate(`
    globalThis.longTasks = [];
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.longTasks.push(duration);
    }).observe({ type: 'longtask' });
  `);
}

/** The tasks since the last call, in milliseconds. */
export async function takeLongTasks(page: Page): Promise<number[]> {
  return (await page.evaluate('globalThis.longTasks.splice(0)')) as number[];
}

/**
 * Scrolls a list from its beginning to its end, half a screen a frame, however much is loaded on the way. Returns the
 * distance in pixels.
 *
 * `list` is the selector of the scrolling element; null: the page. A list that is read upwards loads only by its
 * button.
 */
export async function scrollThrough(page: Page, list: string | null, direction: 1 | -1 = 1): Promise<number> {
  return (await page.evaluate(`(async () => {
    const element = ${list ? `document.querySelector(${JSON.stringify(list)})` : 'document.scrollingElement'};
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const isLoading = () => [...document.querySelectorAll('button')].some(({ textContent }) => textContent === 'Load more');
    const loads = ${direction === 1};
    let sameSince = performance.now();
    for (;;) {
      const before = element.scrollTop;
      element.scrollBy({ top: (${direction} * element.clientHeight) / 2, behavior: 'instant' });
      await frame();
      if (element.scrollTop !== before) sameSince = performance.now();
      if (performance.now() - sameSince > (loads && isLoading() ? 10_000 : 1_000)) return Math.abs(element.scrollTop);
    }
  })()`)) as number;
}
