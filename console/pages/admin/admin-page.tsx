import { Tabs } from '@mantine/core';
import { Navigate, useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useUser } from '../../api/api-context.ts';
import { Page } from '../../components/page.tsx';
import { AllFeedback, AllInstances, Companies, ProviderEvents } from './lists.tsx';

const TABS = { companies: Companies, instances: AllInstances, events: ProviderEvents, feedback: AllFeedback };
type Tab = keyof typeof TABS;

/** The platform as a whole, for superadmins. */
export function AdminPage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { tab } = useSearch({ from: '/signed-in/shell/admin' });
  const names = Object.keys(TABS) as Tab[];
  if (!useUser().is_superadmin) return <Navigate to="/" replace />;
  return (
    <Page title={t('admin.title')}>
      <Tabs
        value={names.find((name) => name === tab) ?? 'companies'}
        keepMounted={false}
        onChange={(name) => void navigate({ to: '/admin', search: { tab: name ?? undefined } })}
      >
        <Tabs.List mb="md">
          {names.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {t(`admin.tabs.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {names.map((name) => {
          const List = TABS[name];
          return (
            <Tabs.Panel key={name} value={name}>
              <List />
            </Tabs.Panel>
          );
        })}
      </Tabs>
    </Page>
  );
}
