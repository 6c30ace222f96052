import { Code } from '@mantine/core';
import { laidOut } from './laid-out.ts';
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
