import { Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useUser } from '../../api/api-context.ts';
import { Page } from '../../components/page.tsx';
import { AuditLog } from './audit-log.tsx';
import { Keys } from './keys.tsx';
import { Profile } from './profile.tsx';
import { Team } from './team.tsx';

const TABS = ['profile', 'team', 'keys', 'audit'] as const;

/** The settings of the user, and for owners those of the company. */
export function SettingsPage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { tab } = useSearch({ from: '/signed-in/shell/settings' });
  const { role, is_superadmin: isRoot } = useUser();
  const mayOwn = role === 'owner' || isRoot;
  const tabs = mayOwn ? TABS : TABS.slice(0, 1);
  return (
    <Page title={t('settings.title')}>
      <Tabs
        value={tabs.find((name) => name === tab) ?? 'profile'}
        keepMounted={false}
        onChange={(name) => void navigate({ to: '/settings', search: { tab: name ?? undefined } })}
      >
        <Tabs.List mb="md">
          {tabs.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {t(`settings.tabs.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="profile">
          <Profile />
        </Tabs.Panel>
        <Tabs.Panel value="team">
          <Team />
        </Tabs.Panel>
        <Tabs.Panel value="keys">
          <Keys />
        </Tabs.Panel>
        <Tabs.Panel value="audit">
          <AuditLog />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
