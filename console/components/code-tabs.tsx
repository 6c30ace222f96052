import { Tabs } from '@mantine/core';
import { BodyText } from './body-text.tsx';
import { CopyButton } from './copy-text.tsx';

/** The same code in several programming languages. */
export function CodeTabs({ codes }: { codes: Readonly<Record<string, string>> }) {
  const names = Object.keys(codes);
  return (
    <Tabs defaultValue={names[0] ?? null} keepMounted={false}>
      <Tabs.List mb="xs">
        {names.map((name) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(codes).map(([name, code]) => (
        <Tabs.Panel key={name} value={name}>
          <BodyText text={code} label={name} />
          <CopyButton text={code} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
