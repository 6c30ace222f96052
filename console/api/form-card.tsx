import { Card } from '../components/card.tsx';
import { MutationForm } from './mutation-form.tsx';

/** A form in its own card that runs a mutation; afterwards the card says what was done. */
export function FormCard(
  props: Parameters<typeof MutationForm>[0] & { title: string; text?: string; done?: string | null | false },
) {
  const { title, text, done, ...form } = props;
  return (
    <Card title={title} text={text} done={done}>
      <MutationForm {...form} />
    </Card>
  );
}
