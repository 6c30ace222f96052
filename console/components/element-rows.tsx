import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react';
import type { Paged } from './more-button.tsx';
import { Drawn } from './window-rows.tsx';

const AROUND = 8;

/** A long list in its own scroll area, which draws only the rows near the visible ones. */
export function ElementRows<Row>(props: {
  label: string;
  rows: readonly Row[];
  rowPx: number;
  keyOf: (row: Row) => string | number;
  list: Paged;
  children: (row: Row) => ReactNode;
}) {
  const { rows, keyOf, list, rowPx } = props;
  const place = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => place.current,
    estimateSize: () => rowPx,
    overscan: AROUND,
  });
  const shown = virtual.getVirtualItems();
  const isAtEnd = (shown.at(-1)?.index ?? 0) >= rows.length - AROUND;
  const { hasNextPage, isFetchingNextPage } = list;
  useEffect(() => {
    if (isAtEnd && hasNextPage && !isFetchingNextPage) void list.fetchNextPage();
  }, [isAtEnd, hasNextPage, isFetchingNextPage, list]);
  return (
    <div ref={place} className="element-rows">
      <ul aria-label={props.label} style={{ height: virtual.getTotalSize() }} onKeyDown={moveByArrow}>
        {shown.map(({ index, start }) => (
          <li key={keyOf(rows[index] as Row)} style={{ transform: `translateY(${start}px)`, height: rowPx }}>
            <Drawn row={rows[index] as Row} draw={props.children} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function moveByArrow(event: KeyboardEvent<HTMLUListElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('li a')];
  const next = links[links.indexOf(document.activeElement as HTMLElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
