import { NativeSelect } from '@mantine/core';
import { Navigate, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../components/empty-state.tsx';
import { ButtonLink } from '../components/links.tsx';
import { useMayManage } from './api-context.ts';
import { Shown } from './shown.tsx';
import { useUsage } from './use-usage.ts';

type To =
  | '/messages'
  | '/messages/new'
  | '/messages/status'
  | '/messages/status/new'
  | '/messages/media'
  | '/messages/catalog'
  | '/messages/templates'
  | '/chats';

/** The instance that a page shows: chosen from a list, kept in the address, at first the newest one. */
export function ChosenInstance(props: { instance: string | undefined; to: To; children: ReactNode }) {
  const { instance, to, children } = props;
  const { t } = useTranslation();
  const navigate = useNavigate();
  const mayManage = useMayManage();
  // Agents may not list instances, but the usage names them.
  const usage = useUsage();
  return (
    <Shown query={usage}>
      {({ instances }) => {
        const [first] = instances;
        if (!instance && !first)
          return (
            <EmptyState
              text={t('messages.noInstance')}
              action={mayManage && <ButtonLink to="/instances/new">{t('instances.create')}</ButtonLink>}
            />
          );
        if (!instance) {
          // The address keeps the rest, such as a tab that a link leads to.
          const search = (before: object) => ({ ...before, instance: first?.instance_id });
          return <Navigate to={to} search={search as never} replace />;
        }
        const options = instances.map(({ instance_id: value, name: label }) => ({ value, label }));
        return (
          <>
            {(options.length > 1 || options[0]?.value !== instance) && (
              <NativeSelect
                label={t('messages.instance')}
                maw={420}
                data={options.some(({ value }) => value === instance) ? options : [instance, ...options]}
                value={instance}
                onChange={(event) => void navigate({ to, search: { instance: event.target.value } })}
              />
            )}
            {children}
          </>
        );
      }}
    </Shown>
  );
}
