import { AppShell, Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useAuth, useUser } from '../api/api-context.ts';
import { useIsLive, useLiveEvents } from '../api/use-live-events.ts';
import { StateBadge } from '../components/state-badge.tsx';
import { refreshBySigns } from '../session/refresh-by-signs.ts';
import { ConnectionBanner } from './connection-banner.tsx';
import { BottomEntries, SideEntries } from './entries.tsx';
import { PersonMenu } from './person-menu.tsx';
import { SubscriptionBanner } from './subscription-banner.tsx';
import { VerifyBanner } from './verify-banner.tsx';

/** Everything around a page: the entries on the left (on a phone at the bottom) and the user's menu at the top. */
export function Shell() {
  const { t } = useTranslation();
  const user = useUser();
  const { connection } = useAuth();
  const live = useLiveEvents();
  const isLive = useIsLive(live);
  const queries = useQueryClient();
  useEffect(
    () => (live ? refreshBySigns({ queries, live, connection }) : undefined),
    [live, queries, connection],
  );
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 208, breakpoint: 'sm', collapsed: { mobile: true } }}
      footer={{ height: { base: 56, sm: 0 } }}
      padding="md"
    >
      <button type="button" className="skip-link" onClick={skip}>
        {t('common.navigation.skip')}
      </button>
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Text fw={700}>Posthorn</Text>
          <Group gap="sm" wrap="nowrap">
            <StateBadge
              tone={isLive ? 'good' : 'idle'}
              label={t(isLive ? 'common.navigation.live' : 'common.navigation.waiting')}
            />
            <PersonMenu user={user} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" visibleFrom="sm">
        <SideEntries />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <div className="column">
          <ConnectionBanner />
          <VerifyBanner user={user} />
          <SubscriptionBanner />
          <Outlet />
        </div>
      </AppShell.Main>
      <AppShell.Footer hiddenFrom="sm">
        <BottomEntries />
      </AppShell.Footer>
    </AppShell>
  );
}

/** A link to `#content` would lead to another page, because the document has a base URL. */
function skip(): void {
  document.querySelector<HTMLElement>('#content')?.focus();
}
