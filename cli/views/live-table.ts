import { Box, type Key, Text, useInput, useWindowSize, type WindowSize } from 'ink';
import { createElement as h, type ReactNode, useState, useSyncExternalStore } from 'react';
import { printable } from '../format.ts';
import { type Column, filterRows, firstShown, fitColumns, wrapLines } from './layout.ts';
import { interrupt } from './show-view.ts';
import type { Store } from './store.ts';

export type Level = 'ok' | 'warning' | 'error' | 'plain';

export interface Row {
  id: string;
  cells: readonly string[];
  level: Level;
}

export interface TableState {
  rows: readonly Row[];
  /** How it stands with the service, and what was done. */
  note: string;
}

export interface TableView {
  title: string;
  columns: readonly Column[];
  store: Store<TableState>;
  hasColor: boolean;
  /** What is shown of a row on Enter. */
  detail(row: Row): Promise<string>;
  /** A further thing that a row allows. */
  action?: { key: string; name: string; run(row: Row): Promise<string> };
}

interface Detail {
  row: Row;
  text: string;
  scroll: number;
}

const COLOR_OF_LEVEL = { ok: 'green', warning: 'yellow', error: 'red', plain: undefined } as const;
/** Title, column titles, note and keys. */
const FRAME_ROWS = 4;
/** Before a row, and behind each of its cells. */
const MARK_COLUMNS = 2;
const GAP_COLUMNS = 2;

/** A table that changes by itself: typing filters it, Enter shows a row, Esc goes back, Ctrl-C ends. */
export function LiveTable(view: TableView): ReactNode {
  const size = useWindowSize();
  const { rows, note } = useSyncExternalStore(view.store.subscribe, view.store.get);
  const [filter, setFilter] = useState('');
  const [selectedId, setSelectedId] = useState<string | null>(null);
  const [detail, setDetail] = useState<Detail | null>(null);
  const shown = filterRows(rows, filter);
  // It stays on its row while others come; the first one is selected until one was chosen.
  const selected = Math.max(
    0,
    shown.findIndex(({ id }) => id === selectedId),
  );
  const height = Math.max(1, size.rows - 1 - FRAME_ROWS);

  const move = (steps: number) => {
    const next = shown[Math.max(0, Math.min(shown.length - 1, selected + steps))];
    setSelectedId(next?.id ?? null);
  };
  const open = (row: Row) => {
    setDetail({ row, text: 'loading ...', scroll: 0 });
    const put = (text: string) => setDetail((now) => (now?.row.id === row.id ? { ...now, text } : now));
    view.detail(row).then(put, (error: Error) => put(`cannot be shown: ${printable(error.message)}`));
  };
  const act = (row: Row | undefined) => {
    if (!row || !view.action) return;
    const tell = (text: string) => view.store.change({ note: text });
    tell(`${view.action.name} ...`);
    view.action.run(row).then(tell, (error: Error) => tell(`${view.action?.name}: ${error.message}`));
  };

  useInput((input, key) => {
    if (key.ctrl && input === 'c') return interrupt();
    const steps = stepsOf(key, height);
    if (key.ctrl && input === view.action?.key) return act(detail?.row ?? shown[selected]);
    if (detail) {
      if (key.escape || key.return || key.leftArrow) return setDetail(null);
      const last = Math.max(0, wrapLines(detail.text, size.columns).length - height);
      return setDetail({ ...detail, scroll: Math.max(0, Math.min(last, detail.scroll + steps)) });
    }
    if (steps !== 0) return move(steps);
    const row = shown[selected];
    if (key.return) return row && open(row);
    if (key.escape) return setFilter('');
    if (key.backspace || key.delete) return setFilter(filter.slice(0, -1));
    if (!key.ctrl && !key.meta && /^[\x20-\x7e]+$/.test(input)) setFilter(filter + input);
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
        `${view.title} (${counted})${filter ? `  filter: ${filter}` : ''}`,
      ),
    ),
    body,
    h(Box, { flexGrow: 1 }),
    line(h(Text, { wrap: 'truncate' }, printable(note))),
    line(h(Text, { dimColor: view.hasColor, wrap: 'truncate' }, keysOf(view, detail !== null))),
  );
}

function line(text: ReactNode): ReactNode {
  return h(Box, { height: 1, flexShrink: 0 }, text);
}

function stepsOf(key: Key, height: number): number {
  if (key.upArrow) return -1;
  if (key.downArrow) return 1;
  if (key.pageUp) return -height;
  return key.pageDown ? height : 0;
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
