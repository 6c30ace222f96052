import { ScrollArea } from '@mantine/core';
import type { ReactNode } from 'react';

/** Scrolls what is higher than `mah`, also by keyboard, so that a long text does not push away what is below it. */
export function ScrollRegion(props: { label: string; mah?: string; children: ReactNode }) {
  return (
    <ScrollArea.Autosize
      mah={props.mah ?? '24rem'}
      viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': props.label }}
    >
      {props.children}
    </ScrollArea.Autosize>
  );
}
