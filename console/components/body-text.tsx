import { Code, ScrollArea } from '@mantine/core';

/** What somebody sent or answered, as text and nothing else; JSON is laid out. */
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
