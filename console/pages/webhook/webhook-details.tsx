import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Webhook } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { CopyButton } from '../../components/copy-text.tsx';
import { Facts } from '../../components/facts.tsx';
import { exactTime, TimeText } from '../../components/time-text.tsx';
import { useInstances } from '../instances/use-instances.ts';
import { Secret } from '../webhooks/secret.tsx';
import { WebhookForm } from '../webhooks/webhook-form.tsx';
import { WebhookState } from '../webhooks/webhook-state.tsx';
import type { useWebhook } from './use-webhook.ts';

type Parts = Omit<ReturnType<typeof useWebhook>, 'webhook'>;

export function WebhookDetails({ webhook, update, test, rotate, remove }: { webhook: Webhook } & Parts) {
  const { t, i18n } = useTranslation();
  const [isEdited, edit] = useDisclosure(false);
  const error = test.error ?? rotate.error ?? remove.error ?? (isEdited ? null : update.error);
  return (
    <Stack gap="md">
      <Group gap="xs">
        <Button loading={test.isPending} disabled={!webhook.enabled} onClick={() => test.mutate()}>
          {t('webhooks.test')}
        </Button>
        <Button variant="default" aria-expanded={isEdited} onClick={edit.toggle}>
          {t('webhooks.edit')}
        </Button>
        <Button
          variant="default"
          loading={update.isPending}
          onClick={() => update.mutate({ enabled: !webhook.enabled })}
        >
          {t(webhook.enabled ? 'webhooks.disable' : 'webhooks.enable')}
        </Button>
        <ConfirmButton
          label={t('webhooks.rotate')}
          text={t('webhooks.rotateText')}
          busy={rotate.isPending}
          onConfirm={() => rotate.mutate()}
        />
        <ConfirmButton
          label={t('webhooks.remove')}
          text={t('webhooks.removeText')}
          busy={remove.isPending}
          onConfirm={() => remove.mutate()}
        />
        <Text size="sm" role="status">
          {test.isSuccess && t('webhooks.tested')}
        </Text>
      </Group>
      {error && <ApiError error={error} />}
      {rotate.data && (
        <Secret
          secret={rotate.data.secret}
          text={t('webhooks.rotated', {
            at: exactTime(rotate.data.previous_secret_expires_at, i18n.language),
          })}
          done={<Button onClick={rotate.reset}>{t('webhooks.secretDone')}</Button>}
        />
      )}
      <Paper p="md">
        {isEdited ? (
          <WebhookForm
            initial={webhook}
            label={t('webhooks.saveSubmit')}
            busy={update.isPending}
            error={update.error}
            onSubmit={(fields) => update.mutate(fields, { onSuccess: edit.close })}
          />
        ) : (
          <Facts
            facts={[
              [t('webhooks.url'), <Address key="url" url={webhook.url} />],
              [t('common.fields.state'), <WebhookState key="state" webhook={webhook} />],
              [t('webhooks.events'), webhook.events.join(', ')],
              [t('webhooks.instance'), <InstanceName key="instance" id={webhook.instance_id} />],
              [t('common.fields.created'), <TimeText key="created" at={webhook.created_at} shows="both" />],
            ]}
          />
        )}
      </Paper>
    </Stack>
  );
}

/** The heading may be cut, so the whole of it can be copied here. */
function Address({ url }: { url: string }) {
  const { t } = useTranslation();
  return (
    <Group gap={6} wrap="nowrap">
      <Text size="sm" className="foreign" lineClamp={3}>
        {url}
      </Text>
      <CopyButton text={url} label={t('webhooks.url')} />
    </Group>
  );
}

/** Shows the instance's name once it is known. */
function InstanceName({ id }: { id: string | null }) {
  const { t } = useTranslation();
  const { data: instances } = useInstances({ enabled: id !== null });
  if (id === null) return t('webhooks.everyInstance');
  return instances?.find((instance) => instance.id === id)?.name ?? id;
}
