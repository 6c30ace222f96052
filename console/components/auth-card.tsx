import { Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';

/** The frame of the pages before the sign-in. A screen reader begins at the heading. */
export function AuthCard({ title, text, children }: { title: string; text?: string; children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Posthorn`;
  }, [title]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <main className="auth-card">
      <Stack gap="lg">
        <Text fw={700}>Posthorn</Text>
        <Title order={1} size="h2" tabIndex={-1} ref={heading}>
          {title}
        </Title>
        {text && <Text>{text}</Text>}
        {children}
      </Stack>
    </main>
  );
}
