import { Navigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { ButtonLink } from '../../components/links.tsx';
import { Page } from '../../components/page.tsx';
import { Secret } from './secret.tsx';
import { useCreateWebhook } from './use-webhooks.ts';
import { WebhookForm } from './webhook-form.tsx';

const INITIAL = { url: '', events: ['*'], instance_id: null };

export function NewWebhookPage() {
  const { t } = useTranslation();
  const create = useCreateWebhook();
  if (!useMayManage()) return <Navigate to="/messages" replace />;
  return (
    <Page title={t('webhooks.newTitle')}>
      {create.data ? (
        <Secret
          secret={create.data.secret}
          done={
            <ButtonLink to="/webhooks/$webhookId" params={{ webhookId: String(create.data.id) }} replace>
              {t('webhooks.secretDone')}
            </ButtonLink>
          }
        />
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
