import { TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Navigate, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useClient, useMayManage } from '../../api/api-context.ts';
import { MutationForm } from '../../api/mutation-form.tsx';
import { Page } from '../../components/page.tsx';

export function NewInstancePage() {
  const { t } = useTranslation();
  const [name, setName] = useState('');
  const create = useCreate(name);
  if (!useMayManage()) return <Navigate to="/messages" replace />;
  return (
    <Page title={t('instances.newTitle')}>
      <MutationForm label={t('instances.createSubmit')} mutation={create} onSubmit={() => create.mutate()}>
        <TextInput
          label={t('common.fields.name')}
          description={t('instances.nameHint')}
          maw={420}
          minLength={3}
          maxLength={80}
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </MutationForm>
    </Page>
  );
}

/** Creates the instance and begins the pairing. The instance's page shows the pairing and its errors. */
function useCreate(name: string) {
  const client = useClient();
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      const instance = await client.instances.create({ body: { name } });
      await client.instances.connect({ instanceId: instance.id }).catch(() => undefined);
      return instance;
    },
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['instances'] });
      await navigate({ to: '/instances/$instanceId', params: { instanceId: id }, replace: true });
    },
  });
}
