import { Code, ScrollArea } from '@mantine/core';

/** The body of a request or an answer, as plain text; JSON is indented. */
export function BodyText({ text, label }: { text: string; label: string }) {
  return (
    <ScrollArea.Autosize mah="24rem" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': label }}>
      <Code block className="foreign">
        {laidOut(text)}
      </Code>
    </ScrollArea.Autosize>
  );
}

function laidOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
