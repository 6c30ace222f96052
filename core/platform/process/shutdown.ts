import type { Config } from '../config.ts';
import type { Log } from './log.ts';
import { withTimeout } from './with-timeout.ts';

/** An orderly shutdown: announce it, stop taking work, finish what was taken, close what was opened. */
export interface Shutdown {
  /** True from the first signal on: /ready answers 503 and answers carry `connection: close`. */
  isDraining(): boolean;
  /** Fires when closing begins, after the delay: waits end. */
  readonly signal: AbortSignal;
  /** Something to close at the end. Closed one after another, the last added first. */
  add(name: string, close: () => Promise<void> | void): void;
  /** Closes everything, without the delay: something failed. A second call waits for the first. */
  begin(reason: string): Promise<void>;
  /** Begins at SIGTERM and SIGINT, and then exits: 0 when all was closed, 1 at the limit or a second signal. */
  onSignals(exit?: (code: number) => void): void;
}

export interface ShutdownTimes {
  /** How long everything is still served after the signal, while /ready already says 503. Default 0. */
  delayMs?: number;
  /** The hard limit after the delay: what is not closed by then is left to the operating system. */
  graceMs: number;
}

const PRODUCTION_DELAY_SECONDS = 5;

/**
 * The times of a role. Only one that a load balancer sends requests to has to wait for it (`isBalanced`):
 * a listener that closes at the signal refuses whatever the balancer sends until its next look at /ready.
 * In development and in tests nobody looks, so there the delay is 0 unless it is set.
 */
export function shutdownTimes(
  config: Pick<Config, 'NODE_ENV' | 'SHUTDOWN_DELAY_SECONDS' | 'SHUTDOWN_GRACE_SECONDS'>,
  role: { isBalanced: boolean },
): ShutdownTimes {
  const usual = config.NODE_ENV === 'production' ? PRODUCTION_DELAY_SECONDS : 0;
  return {
    delayMs: role.isBalanced ? (config.SHUTDOWN_DELAY_SECONDS ?? usual) * 1000 : 0,
    graceMs: config.SHUTDOWN_GRACE_SECONDS * 1000,
  };
}

/**
 * One Ctrl-C under npm is two signals: the terminal signals the whole group, and npm forwards its own. The same
 * signal again within this time is no second request, nor is one that came while this process stood still.
 */
const ECHO_MS = 1_000;

export function createShutdown(options: ShutdownTimes & { log: Log }): Shutdown {
  const controller = new AbortController();
  const resources: { name: string; close: () => Promise<void> | void }[] = [];
  let draining = false;
  let ending: Promise<boolean> | null = null;
  let cutDelayShort = () => {};
  const delayMs = options.delayMs ?? 0;

  /** /ready reports it and nothing else changes, so that load balancers notice before a connection is refused. */
  async function announce(): Promise<void> {
    if (delayMs === 0) return;
    options.log.info({ delayMs }, 'still serving until load balancers notice');
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      cutDelayShort = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

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
  function end(reason: string, how: { delayed: boolean }): Promise<boolean> {
    if (!how.delayed) cutDelayShort();
    ending ??= (async () => {
      draining = true;
      options.log.info({ reason }, 'draining');
      if (how.delayed) await announce();
      controller.abort(new Error('the process is draining'));
      const closed = await withTimeout(
        closeAll().then(() => true),
        options.graceMs,
        () => false,
      );
      if (closed) options.log.info('closed');
      else options.log.error('shutdown did not finish within the grace period');
      return closed;
    })();
    return ending;
  }

  return {
    isDraining: () => draining,
    signal: controller.signal,
    add: (name, close) => void resources.push({ name, close }),
    begin: async (reason) => void (await end(reason, { delayed: false })),
    onSignals(exit = (code) => process.exit(code)) {
      let echo: NodeJS.Signals | null = null;
      const onSignal = (signal: NodeJS.Signals) => {
        if (signal === echo) return;
        if (draining) return exit(1);
        echo = signal;
        // An immediate runs after the signals that had come by then; a timer that is late runs before them.
        setTimeout(() => setImmediate(() => (echo = null)), ECHO_MS).unref();
        void end(signal, { delayed: true }).then((closed) => exit(closed ? 0 : 1));
      };
      process.on('SIGTERM', onSignal);
      process.on('SIGINT', onSignal);
    },
  };
}
