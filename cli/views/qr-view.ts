import { Box, Text, useInput, useWindowSize } from 'ink';
import { createElement as h, type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { printable } from '../format.ts';
import { drawQr } from '../qr/draw.ts';
import type { Terminal } from '../terminal.ts';
import { interrupt, showView } from './show-view.ts';
import type { Store } from './store.ts';

export interface QrState {
  title: string;
  /** Null until there is a code. */
  code: { qr: string; expiresAtMs: number } | null;
}

/** Draws a QR code, and each new one of the store, until `run` ends. */
export async function showQr(
  deps: { terminal: Terminal; signal: AbortSignal },
  store: Store<QrState>,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  await showView(deps, h(QrView, { store, hasColor: deps.terminal.hasColor }), run);
}

function QrView({ store, hasColor }: { store: Store<QrState>; hasColor: boolean }): ReactNode {
  const size = useWindowSize();
  const { title, code } = useSyncExternalStore(store.subscribe, store.get);
  const leftS = useSecondsUntil(code?.expiresAtMs ?? null);
  useInput((input, key) => {
    if (key.ctrl && input === 'c') interrupt();
  });
  const lines = code ? drawQr(code.qr, hasColor ? 'dark' : 'light') : [];
  const needed = { columns: lines[0]?.length ?? 0, rows: lines.length + 3 };
  const fits = needed.columns <= size.columns && needed.rows <= size.rows;
  // Black on white whatever the terminal's colours are, because phones do not find an inverted code.
  const colors = hasColor ? { color: 'black', backgroundColor: 'white' } : {};
  return h(
    Box,
    { flexDirection: 'column' },
    h(Text, { bold: true, wrap: 'truncate' }, printable(title)),
    ...(fits ? lines.map((line, at) => h(Text, { key: at, ...colors }, line)) : []),
    code && !fits
      ? h(
          Text,
          null,
          `The code needs ${needed.columns} columns and ${needed.rows} rows, and this terminal has ${size.columns} and ${size.rows}: make it larger, or save the code with msgctl instances qr --png qr.png`,
        )
      : null,
    h(
      Text,
      { wrap: 'truncate' },
      code ? `valid for ${leftS} s, then there is another one · Ctrl-C end` : 'waiting for the code ...',
    ),
  );
}

function useSecondsUntil(atMs: number | null): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return atMs === null ? 0 : Math.max(0, Math.ceil((atMs - nowMs) / 1_000));
}
