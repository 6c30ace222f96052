import { Text } from '@mantine/core';

/** Whose name it is may be anybody's choice: the number stands beside it. `otherwise`: of whoever has neither. */
export function PersonName(props: { name: string | null; id: string; otherwise?: string }) {
  const { name, id, otherwise = '' } = props;
  if (!name || !id || name === id) return <bdi>{name || id || otherwise}</bdi>;
  return (
    <>
      <bdi>{name}</bdi>{' '}
      <Text span size="xs" c="dimmed" fw={400}>
        <bdi>{id}</bdi>
      </Text>
    </>
  );
}
