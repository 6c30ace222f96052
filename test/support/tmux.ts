import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { ensureProgram } from './debian-package.ts';
import { baseEnv, waitFor } from './process.ts';

/** A shell in a real terminal, of a size that can be changed. */
export interface TestTerminal {
  /** The text on the screen, one line a row. */
  screen(): string;
  /** The same text with its colours, as escape codes. */
  colored(): string;
  /** Types a line and presses Enter. */
  enter(command: string): void;
  type(text: string): void;
  /** By tmux's name: `Enter`, `C-c`, `Escape`, `Up`. */
  press(key: string): void;
  resize(columns: number, rows: number): void;
  /** Terminal modes that a program may leave behind: a hidden cursor, the alternate screen. */
  modes(): { isCursorShown: boolean; isAlternate: boolean };
  /** Waits until the screen matches. */
  shows(pattern: RegExp, timeoutMs?: number): Promise<string>;
  close(): void;
}

const PROMPT = 'ready> ';

export async function openTerminal(options: {
  cwd: string;
  env: Record<string, string>;
  columns?: number;
  rows?: number;
}): Promise<TestTerminal> {
  await ensureProgram('tmux');
  const { cwd, env, columns = 100, rows = 40 } = options;
  const socket = `posthorn-${randomUUID()}`;
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
      env: { ...baseEnv(), LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', TERM: 'xterm-256color' },
    });
  const shell = [
    'env',
    '-i',
    ...Object.entries({ ...baseEnv(), ...env }).map(([name, value]) => `${name}=${value}`),
  ];
  const own = [
    'LANG=C.UTF-8',
    'TERM=screen-256color',
    'HISTFILE=/dev/null',
    `PS1=${PROMPT}`,
    'bash',
    '--norc',
    '--noprofile',
  ];
  tmux('new-session', '-d', '-s', 't', '-x', `${columns}`, '-y', `${rows}`, '-c', cwd, ...shell, ...own);
  const screen = () => tmux('capture-pane', '-p', '-t', 't');
  const terminal: TestTerminal = {
    screen,
    colored: () => tmux('capture-pane', '-p', '-e', '-t', 't'),
    enter(command) {
      terminal.type(command);
      terminal.press('Enter');
    },
    type: (text) => void tmux('send-keys', '-t', 't', '-l', text),
    press: (key) => void tmux('send-keys', '-t', 't', key),
    resize: (width, height) => void tmux('resize-window', '-t', 't', '-x', `${width}`, '-y', `${height}`),
    modes() {
      const [cursor, alternate] = tmux('display-message', '-p', '-t', 't', '#{cursor_flag} #{alternate_on}')
        .trim()
        .split(' ');
      return { isCursorShown: cursor === '1', isAlternate: alternate === '1' };
    },
    async shows(pattern, timeoutMs = 30_000) {
      let last = '';
      try {
        await waitFor(
          () => {
            last = screen();
            return pattern.test(last);
          },
          timeoutMs,
          { everyMs: 100 },
        );
        return last;
      } catch (cause) {
        throw new Error(`the screen does not show ${pattern} after ${timeoutMs} ms:\n${last}`, { cause });
      }
    },
    close: () => void tmux('kill-server'),
  };
  await terminal.shows(/ready>/);
  return terminal;
}
