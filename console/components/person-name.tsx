import { Text } from '@mantine/core';

/** Whose name it is may be anybody's choice: the number or id stands beside it. */
export function PersonName({ name, id }: { name: string | null; id: string }) {
  if (!name || name === id) return <bdi>{id}</bdi>;
  return (
    <>
      <bdi>{name}</bdi>{' '}
      <Text span size="xs" c="dimmed" fw={400}>
        <bdi>{id}</bdi>
      </Text>
    </>
  );
}
