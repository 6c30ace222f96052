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
        <Title order={1} size="h3" tabIndex={-1} ref={heading} className="foreign">
          {title}
        </Title>
        {action}
      </Group>
      {children}
    </Stack>
  );
}
