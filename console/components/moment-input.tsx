import { TextInput } from '@mantine/core';

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
      value={value ? localOf(value) : ''}
      onChange={(event) => {
        const at = new Date(event.target.value);
        onChange(Number.isNaN(at.getTime()) ? '' : at.toISOString());
      }}
    />
  );
}

function localOf(iso: string): string {
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
