/** Lets a loop sleep until it is woken or its time is over. A wake that comes while it works is kept. */
export interface Waker {
  wake(): void;
  /** Resolves at the next wake, at once if one came since the last wait, or after `ms`. */
  wait(ms: number): Promise<void>;
}

export function createWaker(): Waker {
  let woken = false;
  let release: (() => void) | null = null;
  return {
    wake() {
      woken = true;
      release?.();
    },
    async wait(ms) {
      if (!woken) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          release = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        release = null;
      }
      woken = false;
    },
  };
}
