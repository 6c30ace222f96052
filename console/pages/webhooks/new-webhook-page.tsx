import { Alert, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyText } from '../../components/copy-text.tsx';
import { ButtonLink } from '../../components/links.tsx';
import { Page } from '../../components/page.tsx';
import { useCreateWebhook } from './use-webhooks.ts';
import { WebhookForm } from './webhook-form.tsx';

const INITIAL = { url: '', events: ['*'], instance_id: null };

export function NewWebhookPage() {
  const { t } = useTranslation();
  const create = useCreateWebhook();
  return (
    <Page title={t('webhooks.newTitle')}>
      {create.data ? (
        <Secret id={create.data.id} secret={create.data.secret} />
      ) : (
        <WebhookForm
          initial={INITIAL}
          label={t('webhooks.createSubmit')}
          busy={create.isPending}
          error={create.error}
          onSubmit={(fields) => create.mutate(fields)}
        />
      )}
    </Page>
  );
}

/** Shown this once: it is nowhere but in this answer. */
function Secret({ id, secret }: { id: number; secret: string }) {
  const { t } = useTranslation();
  return (
    <Alert color="orange" variant="outline" title={t('webhooks.secretTitle')} role="status">
      <Stack align="flex-start">
        <Text size="sm">{t('webhooks.secretText')}</Text>
        <CopyText text={secret} />
        <ButtonLink to="/webhooks/$webhookId" params={{ webhookId: String(id) }} replace>
          {t('webhooks.secretDone')}
        </ButtonLink>
      </Stack>
    </Alert>
  );
}
