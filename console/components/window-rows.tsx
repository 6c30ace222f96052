import { Table } from '@mantine/core';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { MoreButton, type Paged } from './more-button.tsx';
import { RowTable } from './row-table.tsx';

const ROW_PX = 35;
/** Enough for the arrow keys to find the next row. */
const AROUND = 12;

/**
 * A long table that scrolls with the page: only the rows that are near to what one sees are drawn, and the next page
 * comes as one reaches the end of what is there.
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
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_PX,
    overscan: AROUND,
    scrollMargin,
    getItemKey: (index) => keyOf(rows[index] as Row),
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
        {shown.map(({ index, key }) => (
          <Table.Tr key={key} data-index={index} ref={virtual.measureElement}>
            {props.children(rows[index] as Row)}
          </Table.Tr>
        ))}
        <Space height={last ? virtual.getTotalSize() - (last.end - scrollMargin) : 0} />
      </RowTable>
      {list && <MoreButton list={list} />}
    </div>
  );
}

function Space({ height }: { height: number }) {
  return height > 0 ? <Table.Tr aria-hidden="true" h={height} /> : null;
}
