import { Button, Group, Menu, NavLink } from '@mantine/core';
import { useRouter, useRouterState } from '@tanstack/react-router';
import type { MouseEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useMayManage, useUser } from '../api/api-context.ts';

const ENTRIES = [
  { entry: 'home', to: '/', who: 'managers' },
  { entry: 'instances', to: '/instances', who: 'managers' },
  { entry: 'chats', to: '/chats', who: 'all' },
  { entry: 'messages', to: '/messages', who: 'all' },
  { entry: 'webhooks', to: '/webhooks', who: 'managers' },
  { entry: 'events', to: '/events', who: 'all' },
  { entry: 'billing', to: '/billing', who: 'managers' },
  { entry: 'settings', to: '/settings', who: 'all' },
  { entry: 'admin', to: '/admin', who: 'superadmins' },
] as const;
type Entry = (typeof ENTRIES)[number];

/** The number of entries that fit a phone beside the button that opens the others. */
const ON_PHONE = 4;

/** The entries that the user's role allows; the API checks it again. */
function useEntries(): readonly Entry[] {
  const mayManage = useMayManage();
  const { is_superadmin: isRoot } = useUser();
  const passes = { all: true, managers: mayManage, superadmins: isRoot };
  return ENTRIES.filter(({ who }) => passes[who]);
}

/** The entries at the left. */
export function SideEntries() {
  const entries = useEntries();
  const { label, shown, link } = useEntryLinks(entries);
  return (
    <nav aria-label={label}>
      {entries.map((entry) => (
        <NavLink
          key={entry.entry}
          {...link(entry)}
          color="gray"
          active={entry === shown}
          aria-current={entry === shown ? 'page' : undefined}
        />
      ))}
    </nav>
  );
}

/** The entries at the bottom of a phone: the first ones, and the others behind a button. */
export function BottomEntries() {
  const { t } = useTranslation();
  const entries = useEntries();
  const { label, shown, link } = useEntryLinks(entries);
  const more = entries.slice(entries.length > ON_PHONE + 1 ? ON_PHONE : entries.length);
  return (
    <Group component="nav" aria-label={label} gap={0} wrap="nowrap" h="100%" grow preventGrowOverflow={false}>
      {entries.slice(0, entries.length - more.length).map((entry) => {
        const { label: text, ...props } = link(entry);
        return (
          <Button
            key={entry.entry}
            component="a"
            {...props}
            color="gray"
            variant={entry === shown ? 'light' : 'subtle'}
            className="bottom-entry"
            aria-current={entry === shown ? 'page' : undefined}
          >
            {text}
          </Button>
        );
      })}
      {more.length > 0 && (
        <Menu position="top-end" width={200}>
          <Menu.Target>
            <Button
              color="gray"
              variant={shown && more.includes(shown) ? 'light' : 'subtle'}
              className="bottom-entry"
            >
              {t('common.navigation.more')}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {more.map((entry) => {
              const { label: text, ...props } = link(entry);
              return (
                <Menu.Item key={entry.entry} component="a" {...props}>
                  {text}
                </Menu.Item>
              );
            })}
          </Menu.Dropdown>
        </Menu>
      )}
    </Group>
  );
}

/** Links through the router, which preloads the code of their pages. */
function useEntryLinks(entries: readonly Entry[]) {
  const { t } = useTranslation();
  const router = useRouter();
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const link = ({ entry, to }: Entry) => ({
    href: `${router.basepath}${to}`,
    label: t(`common.navigation.${entry}`),
    onMouseEnter: () => void router.preloadRoute({ to }),
    onClick: (event: MouseEvent) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      void router.navigate({ to });
    },
  });
  return { label: t('common.navigation.label'), shown: entryOf(entries, pathname), link };
}

/** A message has its address under its instance, but belongs to the entry of the messages. */
function entryOf(entries: readonly Entry[], pathname: string): Entry | undefined {
  const parts = pathname.split('/').filter(Boolean);
  if (parts.length === 0) return entries.find(({ entry }) => entry === 'home');
  for (const part of parts.reverse()) {
    const found = entries.find(({ to }) => to === `/${part}`);
    if (found) return found;
  }
  return undefined;
}
