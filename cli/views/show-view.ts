import { render } from 'ink';
import type { ReactNode } from 'react';
import type { Terminal } from '../terminal.ts';

const FPS_MAX = 15;

/**
 * Draws a view while `run` goes on, and leaves the terminal as it was: cursor, screen and line mode. Ends with `run`, or
 * when the signal fires; then without an error. What `run` throws is thrown.
 */
export async function showView(
  deps: { terminal: Terminal; signal: AbortSignal },
  view: ReactNode,
  run: (signal: AbortSignal) => Promise<void>,
  { isFullScreen = true } = {},
): Promise<void> {
  const { terminal, signal } = deps;
  const { stdin, stdout } = terminal;
  const ending = new AbortController();
  const end = () => ending.abort();
  signal.addEventListener('abort', end, { once: true });
  const app = render(view, {
    stdin,
    stdout,
    // It means the same everywhere: see `interrupt`.
    exitOnCtrlC: false,
    patchConsole: false,
    // Decided already: a terminal is one in CI, too.
    interactive: true,
    // What stood there before comes back at the end.
    alternateScreen: isFullScreen,
    maxFps: FPS_MAX,
  });
  let crash: Error | null = null;
  const gone = app.waitUntilExit().catch((error: Error) => {
    crash = error;
  });
  void gone.then(end);
  try {
    if (signal.aborted) end();
    await run(ending.signal);
  } catch (error) {
    if (!ending.signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', end);
    end();
    app.unmount();
    await gone;
  }
  if (crash) throw crash;
}

/** In raw mode the terminal makes no signal of Ctrl-C. */
export function interrupt(): void {
  process.kill(process.pid, 'SIGINT');
}
