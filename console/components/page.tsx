import { Group, Stack, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';

/** The frame of a page: its heading and its main action. A screen reader begins at the heading. */
export function Page({
  title,
  action,
  children,
}: {
  title: string;
  action?: ReactNode;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Posthorn`;
  }, [title]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <Stack gap="lg" className="page">
      <Group justify="space-between" align="center">
        {/* An address has up to 2048 characters, and would push the actions out of sight. */}
        <Title order={1} size="h3" tabIndex={-1} ref={heading} className="foreign" lineClamp={3}>
          {title}
        </Title>
        {action}
      </Group>
      {children}
    </Stack>
  );
}
