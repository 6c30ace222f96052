/** One timer at most, that is set again only when it has passed or was stopped. */
export interface LoneTimer {
  start(ms: number): void;
  stop(): void;
  isSet(): boolean;
}

export function createLoneTimer(onPassed: () => void): LoneTimer {
  let timer: NodeJS.Timeout | null = null;
  return {
    start(ms) {
      timer ??= setTimeout(() => {
        timer = null;
        onPassed();
      }, ms);
    },
    stop() {
      if (timer) clearTimeout(timer);
      timer = null;
    },
    isSet: () => timer !== null,
  };
}
