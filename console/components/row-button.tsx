import { Button } from '@mantine/core';

/** The name of a button of which many stand on a page: the label that one sees, and the thing that it is for. */
export function nameFor(label: string, thing: string): string {
  return `${label}: ${thing}`;
}

const SHORT_CHARS = 60;

/** The beginning of a text that names a thing. */
export function shortText(text: string): string {
  return text.length > SHORT_CHARS ? `${text.slice(0, SHORT_CHARS).toWellFormed()}…` : text;
}

/** A small button in the row of a thing, which is named for those who do not see the row. */
export function RowButton(props: { label: string; thing: string; busy?: boolean; onClick: () => void }) {
  return (
    <Button
      size="compact-xs"
      variant="default"
      aria-label={nameFor(props.label, props.thing)}
      loading={props.busy ?? false}
      onClick={props.onClick}
    >
      {props.label}
    </Button>
  );
}
