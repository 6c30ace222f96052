import { Box, Text, useInput, useWindowSize, type WindowSize } from 'ink';
import { createElement as h, type ReactNode, useState, useSyncExternalStore } from 'react';
import { printable } from '../format.ts';
import type { Terminal } from '../terminal.ts';
import { type Column, filterRows, firstShown, fitColumns, wrapLines } from './layout.ts';
import { interrupt, showView } from './show-view.ts';
import { createStore, type Store } from './store.ts';
import { type Stroke, strokesOf } from './strokes.ts';

export type Level = 'ok' | 'warning' | 'error' | 'plain';

export interface Row {
  id: string;
  cells: readonly string[];
  level: Level;
}

export interface TableState {
  rows: readonly Row[];
  /** The state of the connection to the service. */
  note: string;
}

interface TableView {
  title: string;
  columns: readonly Column[];
  store: Store<TableState>;
  hasColor: boolean;
  /** The text that Enter shows for a row. */
  detail(row: Row): Promise<string>;
  /** A further action on a row. */
  action?: { key: string; name: string; run(row: Row): Promise<string> };
}

interface Detail {
  row: Row;
  text: string;
  scroll: number;
}

const COLOR_OF_LEVEL = { ok: 'green', warning: 'yellow', error: 'red', plain: undefined } as const;
/** Lines for the title, the column titles, the note and the keys. */
const FRAME_ROWS = 4;
/** Columns of the mark before a row, and of the gap after each cell. */
const MARK_COLUMNS = 2;
const GAP_COLUMNS = 2;

/**
 * The user's changes to a table. Not kept in React's state, because the second of two keys at once must see the effect
 * of the first.
 */
interface Focus {
  filter: string;
  selectedId: string | null;
  detail: Detail | null;
  /** The outcome of the action, shown until the next key, beside the note on the service. */
  told: string;
}

/** Shows a live table until Ctrl-C or until `run`, which fills its store, ends. */
export async function showTable(
  deps: { terminal: Terminal; signal: AbortSignal },
  view: Omit<TableView, 'hasColor'>,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { hasColor } = deps.terminal;
  await showView(deps, h(LiveTable, { ...view, hasColor }), run);
}

/** A table that changes by itself: typing filters it, Enter shows a row, Esc goes back, Ctrl-C ends. */
function LiveTable(view: TableView): ReactNode {
  const size = useWindowSize();
  const { rows, note } = useSyncExternalStore(view.store.subscribe, view.store.get);
  const [focus] = useState(() =>
    createStore<Focus>({ filter: '', selectedId: null, detail: null, told: '' }),
  );
  const { filter, selectedId, detail, told } = useSyncExternalStore(focus.subscribe, focus.get);
  const { shown, selected } = choose(rows, filter, selectedId);
  const height = Math.max(1, size.rows - 1 - FRAME_ROWS);

  useInput((input, key) => {
    for (const stroke of strokesOf(input, key)) press(view, focus, stroke, { columns: size.columns, height });
  });

  const counted = shown.length === rows.length ? `${rows.length}` : `${shown.length} of ${rows.length}`;
  const body = detail
    ? h(DetailLines, { detail, size, height })
    : h(TableRows, { view, rows: shown, selected, size, height });
  return h(
    Box,
    { flexDirection: 'column', width: size.columns, height: Math.max(2, size.rows - 1) },
    line(
      h(
        Text,
        { bold: true, wrap: 'truncate' },
        `${view.title} (${counted})${filter ? `  filter: ${printable(filter)}` : ''}`,
      ),
    ),
    body,
    h(Box, { flexGrow: 1 }),
    line(h(Text, { wrap: 'truncate' }, printable([note, told].filter(Boolean).join(' · ')))),
    line(h(Text, { dimColor: view.hasColor, wrap: 'truncate' }, keysOf(view, detail !== null))),
  );
}

function line(text: ReactNode): ReactNode {
  return h(Box, { height: 1, flexShrink: 0 }, text);
}

/** The rows that match the filter, and the selected one: the first row until the user selects another. */
function choose(rows: readonly Row[], filter: string, selectedId: string | null) {
  const shown = filterRows(rows, filter);
  const at = shown.findIndex(({ id }) => id === selectedId);
  return { shown, selected: Math.max(0, at) };
}

function press(
  view: TableView,
  focus: Store<Focus>,
  stroke: Stroke,
  size: { columns: number; height: number },
): void {
  const { filter, selectedId, detail } = focus.get();
  const { shown, selected } = choose(view.store.get().rows, filter, selectedId);
  const row = shown[selected];
  if (stroke.kind === 'ctrl' && stroke.letter === 'c') {
    interrupt();
    return;
  }
  focus.change({ told: '' });
  if (stroke.kind === 'ctrl' && stroke.letter === view.action?.key) act(view, focus, detail?.row ?? row);
  else if (detail) focus.change({ detail: read(detail, stroke, size) });
  else if (stroke.kind === 'enter' && row) open(view, focus, row);
  else focus.change(search({ filter, shown, selected }, stroke, size.height));
}

/** The detail after this stroke, with its new scroll position; null if the stroke closes it. */
function read(detail: Detail, stroke: Stroke, { columns, height }: { columns: number; height: number }) {
  if (stroke.kind === 'escape' || stroke.kind === 'enter' || stroke.kind === 'left') return null;
  const last = Math.max(0, wrapLines(detail.text, columns).length - height);
  return { ...detail, scroll: Math.max(0, Math.min(last, detail.scroll + stepsOf(stroke, height))) };
}

function search(
  { filter, shown, selected }: { filter: string; shown: readonly Row[]; selected: number },
  stroke: Stroke,
  height: number,
): Partial<Focus> {
  const steps = stepsOf(stroke, height);
  if (steps !== 0) {
    const next = shown[Math.max(0, Math.min(shown.length - 1, selected + steps))];
    return { selectedId: next?.id ?? null };
  }
  if (stroke.kind === 'escape') return { filter: '' };
  if (stroke.kind === 'backspace') return { filter: [...filter].slice(0, -1).join('') };
  return stroke.kind === 'text' ? { filter: filter + stroke.text } : {};
}

function open(view: TableView, focus: Store<Focus>, row: Row): void {
  focus.change({ detail: { row, text: 'loading ...', scroll: 0 } });
  const put = (text: string) => {
    const { detail } = focus.get();
    if (detail?.row.id === row.id) focus.change({ detail: { ...detail, text } });
  };
  view.detail(row).then(put, (error: Error) => put(`cannot be shown: ${printable(error.message)}`));
}

function act({ action }: TableView, focus: Store<Focus>, row: Row | undefined): void {
  if (!row || !action) return;
  const tell = (told: string) => focus.change({ told });
  tell(`${action.name} ...`);
  action.run(row).then(tell, (error: Error) => tell(`${action.name}: ${error.message}`));
}

function stepsOf({ kind }: Stroke, height: number): number {
  if (kind === 'up') return -1;
  if (kind === 'down') return 1;
  if (kind === 'pageUp') return -height;
  return kind === 'pageDown' ? height : 0;
}

function keysOf({ action }: TableView, isDetail: boolean): string {
  const does = action ? ` · Ctrl-${action.key.toUpperCase()} ${action.name}` : '';
  if (isDetail) return `Esc back · ↑↓ scroll${does} · Ctrl-C end`;
  return `type to filter · ↑↓ select · Enter details${does} · Esc no filter · Ctrl-C end`;
}

function TableRows(props: {
  view: TableView;
  rows: readonly Row[];
  selected: number;
  size: WindowSize;
  height: number;
}): ReactNode {
  const { view, rows, selected, size, height } = props;
  const widths = fitColumns(view.columns, size.columns - MARK_COLUMNS - GAP_COLUMNS);
  const from = firstShown(rows.length, selected, height);
  const titles = view.columns.map(({ title }) => title);
  return h(
    Box,
    { flexDirection: 'column', flexShrink: 0 },
    h(Cells, { key: 'titles', mark: '  ', cells: titles, widths, isBold: true }),
    ...rows.slice(from, from + height).map((row, at) =>
      h(Cells, {
        key: row.id,
        mark: from + at === selected ? '> ' : '  ',
        cells: row.cells,
        widths,
        isBold: from + at === selected,
        color: view.hasColor ? COLOR_OF_LEVEL[row.level] : undefined,
      }),
    ),
  );
}

function Cells(props: {
  mark: string;
  cells: readonly string[];
  widths: readonly number[];
  isBold: boolean;
  color?: string | undefined;
}): ReactNode {
  const { mark, cells, widths, isBold, color } = props;
  const text = { bold: isBold, wrap: 'truncate', ...(color ? { color } : {}) } as const;
  return h(
    Box,
    { height: 1, flexShrink: 0 },
    h(Box, { width: MARK_COLUMNS, flexShrink: 0 }, h(Text, text, mark)),
    ...cells.flatMap((cell, at) => {
      const width = widths[at] ?? 0;
      if (width === 0) return [];
      return [h(Box, { key: at, width, marginRight: GAP_COLUMNS, flexShrink: 0 }, h(Text, text, cell))];
    }),
  );
}

function DetailLines({
  detail,
  size,
  height,
}: {
  detail: Detail;
  size: WindowSize;
  height: number;
}): ReactNode {
  const lines = wrapLines(detail.text, size.columns).slice(detail.scroll, detail.scroll + height);
  return h(
    Box,
    { flexDirection: 'column', flexShrink: 0 },
    ...lines.map((text, at) => h(Text, { key: at, wrap: 'truncate' }, text || ' ')),
  );
}
