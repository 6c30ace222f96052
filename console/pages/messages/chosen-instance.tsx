import { NativeSelect, Text, TextInput } from '@mantine/core';
import { Navigate, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { ApiError } from '../../api/api-error.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ButtonLink } from '../../components/links.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { SubmitForm } from '../../components/submit-form.tsx';
import { useInstances } from '../instances/use-instances.ts';

interface Choice {
  instance: string | undefined;
  to: '/messages' | '/messages/new';
  children: ReactNode;
}

/** Which instance a page is about: chosen from the list, kept in the address, the newest one at first. */
export function ChosenInstance(props: Choice) {
  return useMayManage() ? <FromList {...props} /> : <ById {...props} />;
}

function FromList({ instance, to, children }: Choice) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const instances = useInstances();
  return (
    <Loaded
      query={instances}
      failed={(error) => <ApiError error={error} onRetry={() => void instances.refetch()} />}
    >
      {(list) => {
        const [first] = list;
        if (!first)
          return (
            <EmptyState
              text={t('messages.noInstance')}
              action={<ButtonLink to="/instances/new">{t('instances.create')}</ButtonLink>}
            />
          );
        if (!instance) return <Navigate to={to} search={{ instance: first.id }} replace />;
        const options = list.map(({ id, name }) => ({ value: id, label: name }));
        return (
          <>
            <NativeSelect
              label={t('messages.instance')}
              maw={420}
              data={options.some(({ value }) => value === instance) ? options : [instance, ...options]}
              value={instance}
              onChange={(event) => void navigate({ to, search: { instance: event.target.value } })}
            />
            {children}
          </>
        );
      }}
    </Loaded>
  );
}

/** For agents, whom the service does not tell which instances there are. */
function ById({ instance, to, children }: Choice) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [id, setId] = useState('');
  if (instance) return children;
  return (
    <SubmitForm
      label={t('messages.open')}
      busy={false}
      onSubmit={() => void navigate({ to, search: { instance: id.trim() } })}
    >
      <Text>{t('messages.agentText')}</Text>
      <TextInput
        label={t('messages.instanceId')}
        maw={420}
        required
        value={id}
        onChange={(event) => setId(event.target.value)}
      />
    </SubmitForm>
  );
}
