import { Box, Text, useWindowSize } from 'ink';
import { createElement as h, type ReactNode, useSyncExternalStore } from 'react';
import type { Terminal } from '../terminal.ts';
import { showView } from './show-view.ts';
import type { Store } from './store.ts';

export interface ProgressState {
  name: string;
  done: number;
  total: number;
  /** The progress in words: `3 of 10`. */
  counted: string;
}

const BAR_MAX = 30;

/** Shows a bar that grows while `run` works; the bar stays on the screen at the end. */
export async function showProgress(
  deps: { terminal: Terminal; signal: AbortSignal },
  store: Store<ProgressState>,
  run: () => Promise<void>,
): Promise<void> {
  await showView(deps, h(Bar, { store }), run, { isFullScreen: false });
}

function Bar({ store }: { store: Store<ProgressState> }): ReactNode {
  const { columns } = useWindowSize();
  const { name, done, total, counted } = useSyncExternalStore(store.subscribe, store.get);
  const share = total === 0 ? 0 : Math.min(1, done / total);
  const width = Math.max(1, Math.min(BAR_MAX, columns - 40));
  const full = Math.round(share * width);
  const bar = `${'█'.repeat(full)}${'░'.repeat(width - full)}`;
  return h(
    Box,
    null,
    h(
      Text,
      { wrap: 'truncate' },
      [`${bar} ${String(Math.floor(share * 100)).padStart(3)} %`, counted, name].filter(Boolean).join('  '),
    ),
  );
}
