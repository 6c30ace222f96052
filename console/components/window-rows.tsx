import { Table } from '@mantine/core';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { MoreButton, type Paged } from './more-button.tsx';
import { RowTable, Row as TableRow } from './row-table.tsx';

/** The assumed height of a row until it is drawn and measured. */
const ROW_PX = window.matchMedia('(max-width: 48em)').matches ? 60 : 35;
/** Enough for the arrow keys to find the next row. */
const AROUND = 12;

/**
 * A long table that scrolls with the page. It draws only the rows near the visible ones, and loads the next page when
 * the user reaches the end.
 */
export function WindowRows<Row>(props: {
  head: readonly string[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  list?: Paged;
  children: (row: Row) => ReactNode;
}) {
  const { rows, keyOf, list } = props;
  const place = useRef<HTMLDivElement>(null);
  const [scrollMargin, setMargin] = useState(0);
  useLayoutEffect(() => {
    if (place.current) setMargin(place.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  // Measured by index, not by key: sizes of rows that a live list has dropped would be kept for ever.
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_PX,
    overscan: AROUND,
    scrollMargin,
  });
  const shown = virtual.getVirtualItems();
  const [first, last] = [shown[0], shown.at(-1)];
  const isAtEnd = last !== undefined && last.index >= rows.length - AROUND;
  const { hasNextPage = false, isFetchingNextPage = false } = list ?? {};
  useEffect(() => {
    if (isAtEnd && hasNextPage && !isFetchingNextPage) void list?.fetchNextPage();
  }, [isAtEnd, hasNextPage, isFetchingNextPage, list]);
  return (
    <div ref={place}>
      <RowTable head={props.head}>
        <Space height={first ? first.start - scrollMargin : 0} />
        {shown.map(({ index }) => (
          <TableRow key={keyOf(rows[index] as Row)} data-index={index} ref={virtual.measureElement}>
            <Drawn row={rows[index] as Row} draw={props.children} />
          </TableRow>
        ))}
        <Space height={last ? virtual.getTotalSize() - (last.end - scrollMargin) : 0} />
      </RowTable>
      {list && <MoreButton list={list} />}
    </div>
  );
}

/** Keeps a drawn row while others change, because scrolling would redraw every row each time. */
export const Drawn = memo(function Drawn<Row>(props: { row: Row; draw: (row: Row) => ReactNode }) {
  return props.draw(props.row);
}) as <Row>(props: { row: Row; draw: (row: Row) => ReactNode }) => ReactNode;

function Space({ height }: { height: number }) {
  return height > 0 ? <Table.Tr aria-hidden="true" h={height} /> : null;
}
