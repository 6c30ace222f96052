import { Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';

/** The frame of the pages before the sign-in. */
export function AuthCard({ title, text, children }: { title: string; text?: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Posthorn`;
  }, [title]);
  return (
    <main className="auth-card">
      <Stack gap="lg">
        <Text fw={700}>Posthorn</Text>
        <Title order={1} size="h2">
          {title}
        </Title>
        {text && <Text>{text}</Text>}
        {children}
      </Stack>
    </main>
  );
}
