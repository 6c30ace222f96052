import { Button, Stack } from '@mantine/core';
import type { ReactNode } from 'react';

/** A form with one button, which names its action and is disabled only while that runs. */
export function SubmitForm(props: {
  label: string;
  busy: boolean;
  onSubmit: () => void;
  error?: ReactNode;
  fullWidth?: boolean;
  /** It destroys something. */
  isDanger?: boolean | undefined;
  /** It is not the main action of its page, or one of several. */
  isMinor?: boolean | undefined;
  children?: ReactNode;
}) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!props.busy) props.onSubmit();
      }}
    >
      <Stack gap="md">
        {props.children}
        {props.error}
        <div>
          <Button
            type="submit"
            loading={props.busy}
            fullWidth={props.fullWidth ?? false}
            {...(props.isDanger && { color: 'red' })}
            {...(props.isMinor && { variant: 'default' })}
          >
            {props.label}
          </Button>
        </div>
      </Stack>
    </form>
  );
}
