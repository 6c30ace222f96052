import { Button, Group, Stack } from '@mantine/core';
import type { Instance } from '@posthorn/sdk/index.ts';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { OFFICIAL } from '../../api/official.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { ButtonLink } from '../../components/links.tsx';
import { type InstanceAction, useInstanceAction } from './use-instance.ts';

/** The actions that make sense in a state; the service refuses all others anyway. */
function actionsOf({ state, phone, driver }: Instance): InstanceAction[] {
  // Its credentials connect it.
  if (driver === OFFICIAL && !phone) return [];
  if (state === 'CREATED' || state === 'DISCONNECTED') return ['connect'];
  if (state === 'PAIRING') return ['disconnect'];
  if (state === 'CONNECTED') return ['restart', 'disconnect'];
  return phone ? ['disconnect'] : [];
}

export function InstanceActions({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const action = useInstanceAction(instance.id, () => void navigate({ to: '/instances', replace: true }));
  const isBusy = (name: InstanceAction) => action.isPending && action.variables === name;
  return (
    <Stack gap="sm">
      <Group gap="xs">
        {instance.phone && (
          <ButtonLink to="/messages" search={{ instance: instance.id }}>
            {t('instances.actions.messages')}
          </ButtonLink>
        )}
        {actionsOf(instance).map((name) => (
          <Button
            key={name}
            variant={name === 'connect' && !instance.phone ? 'filled' : 'default'}
            loading={isBusy(name)}
            onClick={() => action.mutate(name)}
          >
            {t(`instances.actions.${name}`)}
          </Button>
        ))}
        {instance.phone && (
          <ConfirmButton
            label={t('instances.actions.logout')}
            text={t('instances.actions.logoutText')}
            busy={isBusy('logout')}
            onConfirm={() => action.mutate('logout')}
          />
        )}
        <ConfirmButton
          label={t('instances.actions.remove')}
          text={t('instances.actions.removeText')}
          busy={isBusy('remove')}
          onConfirm={() => action.mutate('remove')}
        />
      </Group>
      {action.error && <ApiError error={action.error} />}
    </Stack>
  );
}
