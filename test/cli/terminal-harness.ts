import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { watchedEnv } from '../support/answers/watched-env.ts';
import { openTerminal, type TestTerminal } from '../support/tmux.ts';
import { MSGCTL } from './msgctl.ts';

export interface CliTerminal extends TestTerminal {
  /** Types `msgctl ...`. Its exit code appears on the screen as `code=0`. */
  msgctl(command: string): void;
  /** Waits until it has ended with this code, and checks that it restored the terminal. */
  endsWith(code: number, timeoutMs?: number): Promise<string>;
}

/** A terminal in which `msgctl` is the one of this checkout. */
export async function openCliTerminal(
  env: Record<string, string>,
  size: { columns?: number; rows?: number } = {},
): Promise<CliTerminal> {
  const home = mkdtempSync(path.join(tmpdir(), 'posthorn-terminal-'));
  const config = { HOME: home, POSTHORN_CONFIG: path.join(home, 'config.json') };
  const terminal = await openTerminal({ cwd: home, env: { ...watchedEnv(), ...config, ...env }, ...size });
  terminal.enter(`msgctl() { "${process.execPath}" "${MSGCTL}" "$@"; echo "code=$?"; }; clear`);
  await terminal.shows(/^ready>\s*$/m);
  return {
    ...terminal,
    msgctl: (command) => terminal.enter(`clear; msgctl ${command}`),
    async endsWith(code, timeoutMs) {
      const screen = await terminal.shows(/code=\d+/, timeoutMs);
      assert.match(screen, new RegExp(`code=${code}\\b`), screen);
      assert.deepEqual(terminal.modes(), { isCursorShown: true, isAlternate: false });
      // The terminal reads whole lines again, and shows typed text.
      terminal.enter(`clear; stty -a | grep -oE -- '-?(icanon|echo|isig)\\b' | sort | tr '\\n' ' '`);
      await terminal.shows(/^echo icanon isig /m);
      return screen;
    },
    close() {
      terminal.close();
      rmSync(home, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
