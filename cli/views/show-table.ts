import { createElement } from 'react';
import type { Terminal } from '../terminal.ts';
import { LiveTable, type TableView } from './live-table.ts';
import { showView } from './show-view.ts';

/** Shows a live table until Ctrl-C, or until `run` ends, which fills its store. */
export async function showTable(
  deps: { terminal: Terminal; signal: AbortSignal },
  view: Omit<TableView, 'hasColor'>,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { hasColor } = deps.terminal;
  await showView(deps, createElement(LiveTable, { ...view, hasColor }), run);
}
