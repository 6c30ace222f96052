import { Alert, Code, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { FormCard } from '../../api/form-card.tsx';
import { Shown } from '../../api/shown.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Cell, Row, RowTable } from '../../components/row-table.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useKeys } from './use-keys.ts';

/** API keys for programs. A key acts as the user who made it. */
export function Keys() {
  const { t } = useTranslation();
  const { keys, create, revoke } = useKeys();
  const [name, setName] = useState('');
  return (
    <Stack>
      {create.data && (
        <Alert color="orange" variant="outline" title={t('settings.keys.once')} role="status">
          <CopyText text={create.data.token} />
        </Alert>
      )}
      {revoke.error && <ApiError error={revoke.error} />}
      <Shown query={keys}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState text={t('settings.keys.empty')} />
          ) : (
            <RowTable
              head={[
                t('common.fields.name'),
                t('settings.keys.ends'),
                t('settings.keys.used'),
                t('common.fields.created'),
                '',
              ]}
            >
              {list.map((key) => (
                <Row key={key.id}>
                  <Cell className="foreign">{key.name}</Cell>
                  <Cell>
                    <Code>…{key.last4}</Code>
                  </Cell>
                  <Cell>
                    {key.last_used_at ? (
                      <TimeText at={key.last_used_at} shows="both" />
                    ) : (
                      <Text size="sm">{t('common.never')}</Text>
                    )}
                  </Cell>
                  <Cell>
                    <TimeText at={key.created_at} shows="both" />
                  </Cell>
                  <Cell>
                    <ConfirmButton
                      isInRow
                      label={t('settings.keys.revoke')}
                      thing={`${key.name} …${key.last4}`}
                      text={t('settings.keys.revokeText')}
                      busy={false}
                      onConfirm={() => revoke.mutate(key.id)}
                    />
                  </Cell>
                </Row>
              ))}
            </RowTable>
          )
        }
      </Shown>
      <FormCard
        title={t('settings.keys.create')}
        label={t('settings.keys.submit')}
        mutation={create}
        onSubmit={() => create.mutate(name, { onSuccess: () => setName('') })}
      >
        <TextInput
          label={t('common.fields.name')}
          description={t('settings.keys.hint')}
          required
          maw={420}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </FormCard>
    </Stack>
  );
}
