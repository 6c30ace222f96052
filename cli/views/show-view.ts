import { render } from 'ink';
import type { ReactNode } from 'react';
import type { Terminal } from '../terminal.ts';

const FPS_MAX = 15;

/**
 * Draws a view while `run` works, and restores the terminal: cursor, screen and line mode. Ends with `run`, or without
 * an error when the signal fires. Throws the errors of `run`.
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
    // Ctrl-C works as in all commands: see `interrupt`.
    exitOnCtrlC: false,
    patchConsole: false,
    // The caller has checked that this is a terminal; Ink would not draw on one in CI.
    interactive: true,
    // The previous content of the terminal comes back at the end.
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

/** Sends the signal of Ctrl-C, which the terminal does not do in raw mode. */
export function interrupt(): void {
  process.kill(process.pid, 'SIGINT');
}
