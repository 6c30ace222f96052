import { Paper, Stack, Switch, Text } from '@mantine/core';
import type { InstanceSettings } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { Shown } from '../../api/shown.tsx';
import { useSettings } from './use-settings.ts';

const NAMES = [
  'humanize_enabled',
  'passive_mode_enabled',
  'anti_spam_guard_enabled',
  'anti_spam_temperature_enabled',
  'auto_read',
  'always_online',
  'reject_calls',
  'ignore_groups',
  'store_media',
] as const satisfies readonly (keyof InstanceSettings)[];

/** Each setting with its meaning. A switch saves its setting as soon as it is moved. */
export function Settings({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const { settings, change } = useSettings(instanceId);
  return (
    <Paper p="md">
      <Shown query={settings}>
        {(values) => (
          <Stack gap="lg">
            {NAMES.map((name) => (
              <Switch
                key={name}
                label={t(`instances.settings.${name}.label`)}
                description={t(`instances.settings.${name}.text`)}
                checked={values[name]}
                disabled={change.isPending && change.variables.name === name}
                onChange={(event) => change.mutate({ name, value: event.target.checked })}
              />
            ))}
            <Text size="sm" role="status" mih="1.5em">
              {change.isSuccess && t('instances.settings.saved')}
            </Text>
            {change.error && <ApiError error={change.error} />}
          </Stack>
        )}
      </Shown>
    </Paper>
  );
}
