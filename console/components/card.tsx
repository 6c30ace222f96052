import { Alert, Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** A part of a page: a heading and its content. */
export function Card(props: {
  title: string;
  text?: string | undefined;
  action?: ReactNode;
  /** A text that says what was just done here. */
  done?: string | null | false | undefined;
  children?: ReactNode;
}) {
  return (
    <Paper p="md" component="section">
      <Stack gap="sm">
        <Group justify="space-between" align="baseline">
          <Title order={2} size="h5">
            {props.title}
          </Title>
          {props.action}
        </Group>
        {props.text && <Text size="sm">{props.text}</Text>}
        {props.done && (
          <Alert color="green" variant="outline" role="status">
            {props.done}
          </Alert>
        )}
        {props.children}
      </Stack>
    </Paper>
  );
}
