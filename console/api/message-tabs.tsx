import { Tabs } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useMayManage } from './api-context.ts';
import { OFFICIAL } from './official.ts';
import { useUsage } from './use-usage.ts';

interface View {
  view: string;
  who: 'all' | 'managers';
  to: string;
  /** The networks that lack this view (`lacks.ts` of each). */
  lackedBy?: readonly string[];
  /** The only networks that have it. */
  onlyOn?: readonly string[];
}

export const VIEWS = [
  { view: 'log', who: 'all', to: '/messages' },
  { view: 'queue', who: 'managers', to: '/messages' },
  { view: 'scheduled', who: 'all', to: '/messages' },
  { view: 'status', who: 'all', to: '/messages/status', lackedBy: [OFFICIAL] },
  { view: 'media', who: 'all', to: '/messages/media' },
  { view: 'catalog', who: 'managers', to: '/messages/catalog', lackedBy: [OFFICIAL] },
  { view: 'templates', who: 'managers', to: '/messages/templates', onlyOn: [OFFICIAL] },
] as const satisfies readonly View[];
export type MessageView = (typeof VIEWS)[number]['view'];

/** The views of one instance under the entry Messages, each with its own address. */
export function MessageTabs(props: { instance: string; view: MessageView; children: ReactNode }) {
  const { instance, view } = props;
  const { t } = useTranslation();
  const navigate = useNavigate();
  const mayManage = useMayManage();
  const { data: usage } = useUsage();
  const driver = usage?.instances.find(({ instance_id: id }) => id === instance)?.driver ?? '';
  const isOffered = ({ who, lackedBy, onlyOn, view }: View) =>
    view === props.view ||
    ((mayManage || who === 'all') && !lackedBy?.includes(driver) && (onlyOn?.includes(driver) ?? true));
  const open = (name: string | null) => {
    const found = VIEWS.find((one) => one.view === name);
    if (!found) return;
    const show = found.view === 'queue' || found.view === 'scheduled' ? found.view : undefined;
    if (found.to === '/messages') void navigate({ to: found.to, search: { instance, show } });
    else void navigate({ to: found.to, search: { instance } });
  };
  return (
    <Tabs
      value={view}
      keepMounted={false}
      // Most views are pages, which take the focus: arrow keys only move, so that one can pass a view.
      activateTabWithKeyboard={false}
      onChange={open}
    >
      <Tabs.List mb="md">
        {VIEWS.filter(isOffered).map((one) => (
          <Tabs.Tab key={one.view} value={one.view}>
            {t(`queue.tabs.${one.view}`)}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={view}>{props.children}</Tabs.Panel>
    </Tabs>
  );
}
