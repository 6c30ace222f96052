import { NativeSelect, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Navigate, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useClient, useMayManage } from '../../api/api-context.ts';
import { MutationForm } from '../../api/mutation-form.tsx';
import { OFFICIAL } from '../../api/official.ts';
import { Page } from '../../components/page.tsx';

/** The installation's own network pairs with a phone; official numbers are another network. */
const WAYS = ['phone', 'official'] as const;
type Way = (typeof WAYS)[number];

export function NewInstancePage() {
  const { t } = useTranslation();
  const [name, setName] = useState('');
  const [way, setWay] = useState<Way>('phone');
  const create = useCreate(name, way);
  if (!useMayManage()) return <Navigate to="/messages" replace />;
  return (
    <Page title={t('instances.newTitle')}>
      <MutationForm
        label={t(way === 'phone' ? 'instances.createSubmit' : 'instances.createOfficial')}
        mutation={create}
        onSubmit={() => create.mutate()}
      >
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
        <NativeSelect
          label={t('instances.way')}
          maw={420}
          value={way}
          data={WAYS.map((value) => ({ value, label: t(`instances.ways.${value}`) }))}
          onChange={(event) => setWay(event.target.value as Way)}
        />
      </MutationForm>
    </Page>
  );
}

/**
 * Creates the instance and begins the pairing. The instance's page shows the pairing and its errors; for an official
 * number it asks for the credentials.
 */
function useCreate(name: string, way: Way) {
  const client = useClient();
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      if (way === 'official') return client.instances.create({ body: { name, driver: OFFICIAL } });
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
