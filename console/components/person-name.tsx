/**
 * A person's name, with the number beside it, because anybody can choose any name. `otherwise` is shown without either.
 */
export function PersonName(props: { name: string | null; id: string; otherwise?: string }) {
  const { name, id, otherwise = '' } = props;
  if (!name || !id || name === id) return <bdi>{name || id || otherwise}</bdi>;
  return (
    <>
      <bdi>{name}</bdi>{' '}
      <small className="dimmed">
        <bdi>{id}</bdi>
      </small>
    </>
  );
}
