import { Table } from '@mantine/core';
import type { ComponentProps, CSSProperties, KeyboardEvent, ReactNode } from 'react';

/**
 * A dense table whose rows can be reached with the arrow keys: each row has one link, in its first cell. The table
 * scrolls if it is wider than the screen. On a phone each row becomes a block: the first cell, and below it the others,
 * each behind the name of its column.
 */
export function RowTable({ head, children }: { head: readonly string[]; children: ReactNode }) {
  return (
    <Table.ScrollContainer minWidth={0} className="row-table">
      <Table highlightOnHover verticalSpacing={6} onKeyDown={moveByArrow} style={namesOf(head)}>
        <Table.Thead>
          <Table.Tr>
            {head.map((name) => (
              <Table.Th key={name} scope="col">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

/** A row with the look of Mantine's `Table.Tr`, which reads the theme and twenty properties for each of thousands of rows. */
export function Row(props: ComponentProps<'tr'>) {
  return <tr {...props} className={Table.classes.tr} data-hover="true" data-with-row-border="true" />;
}

/** A cell with the look of Mantine's; see `Row`. */
export function Cell({ className, ...props }: ComponentProps<'td'>) {
  return <td {...props} className={className ? `${Table.classes.td} ${className}` : Table.classes.td} />;
}

/** The style sheet writes these before the cells: no cell needs to know the name of its column. */
function namesOf(head: readonly string[]): CSSProperties {
  return Object.fromEntries(
    head.map((name, at) => [`--column-${at + 1}`, name ? JSON.stringify(name) : 'none']),
  );
}

function moveByArrow(event: KeyboardEvent<HTMLTableElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('tbody tr a')];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = links[at + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
