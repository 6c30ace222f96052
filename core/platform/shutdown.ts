import type { Log } from './log.ts';

/** The orderly end of a process: stop taking work, finish what was taken, close what was opened. */
export interface Shutdown {
  /** True from the first signal on: /ready answers 503 and answers carry `connection: close`. */
  isDraining(): boolean;
  /** Fires when draining begins: long-lived answers (SSE, WebSocket) and waits end. */
  readonly signal: AbortSignal;
  /** Something to close at the end. Closed one after another, the last added first. */
  add(name: string, close: () => Promise<void> | void): void;
  /** Drains and closes everything. A second call waits for the first. */
  begin(reason: string): Promise<void>;
  /** Begins at SIGTERM and SIGINT, and then exits: 0 when all was closed, 1 at the limit or a second signal. */
  onSignals(exit?: (code: number) => void): void;
}

/** `graceMs` is the hard limit: what is not closed by then is left to the operating system. */
export function createShutdown(options: { log: Log; graceMs: number }): Shutdown {
  const controller = new AbortController();
  const resources: { name: string; close: () => Promise<void> | void }[] = [];
  let ending: Promise<boolean> | null = null;

  async function closeAll(): Promise<void> {
    for (let next = resources.pop(); next; next = resources.pop()) {
      try {
        await next.close();
      } catch (err) {
        options.log.error({ err, resource: next.name }, 'closing failed');
      }
    }
  }

  /** True when all was closed in time. */
  function end(reason: string): Promise<boolean> {
    ending ??= (async () => {
      options.log.info({ reason }, 'draining');
      controller.abort(new Error('the process is draining'));
      let timer: NodeJS.Timeout | undefined;
      const limit = new Promise<false>((resolve) => {
        timer = setTimeout(() => resolve(false), options.graceMs);
      });
      const closed = await Promise.race([closeAll().then(() => true), limit]);
      clearTimeout(timer);
      if (closed) options.log.info('closed');
      else options.log.error('not closed within the grace period');
      return closed;
    })();
    return ending;
  }

  return {
    isDraining: () => controller.signal.aborted,
    signal: controller.signal,
    add: (name, close) => void resources.push({ name, close }),
    begin: async (reason) => void (await end(reason)),
    onSignals(exit = (code) => process.exit(code)) {
      const onSignal = (signal: NodeJS.Signals) => {
        if (controller.signal.aborted) return exit(1);
        void end(signal).then((closed) => exit(closed ? 0 : 1));
      };
      process.on('SIGTERM', onSignal);
      process.on('SIGINT', onSignal);
    },
  };
}
