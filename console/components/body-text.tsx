import { Code } from '@mantine/core';
import { ScrollRegion } from './scroll-region.tsx';

/** The body of a request or an answer, as plain text; JSON is indented. */
export function BodyText({ text, label, mah }: { text: string; label: string; mah?: string }) {
  return (
    <ScrollRegion label={label} {...(mah && { mah })}>
      <Code block className="foreign">
        {laidOut(text)}
      </Code>
    </ScrollRegion>
  );
}

function laidOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
