import { TextInput } from '@mantine/core';
import { localMoment } from './local-moment.ts';

/** A moment in the user's own time zone, which is sent in UTC. */
export function MomentInput(props: {
  label: string;
  description?: string | undefined;
  required?: boolean;
  error?: string | null | undefined;
  maw?: number;
  value: string;
  onChange: (value: string) => void;
}) {
  const { value, onChange, ...input } = props;
  return (
    <TextInput
      {...input}
      type="datetime-local"
      value={value ? localMoment(value) : ''}
      onChange={(event) => {
        const at = new Date(event.target.value);
        onChange(Number.isNaN(at.getTime()) ? '' : at.toISOString());
      }}
    />
  );
}
