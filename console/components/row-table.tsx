import { Table } from '@mantine/core';
import type { KeyboardEvent, ReactNode } from 'react';

/**
 * A dense table whose rows are reached with the arrow keys: each row has one link, in its first cell. It scrolls by
 * itself where it is wider than the screen.
 */
export function RowTable({ head, children }: { head: readonly string[]; children: ReactNode }) {
  return (
    <Table.ScrollContainer minWidth={Math.min(640, 160 * head.length)}>
      <Table highlightOnHover verticalSpacing={6} onKeyDown={moveByArrow}>
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
