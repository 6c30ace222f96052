import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ChosenInstance } from '../../api/chosen-instance.tsx';
import { Shown } from '../../api/shown.tsx';
import { useSendKinds } from '../../api/use-send-kinds.ts';
import { ButtonLink } from '../../components/links.tsx';
import { Page } from '../../components/page.tsx';
import { SendForm } from './send-form.tsx';
import type { Sent } from './use-send.ts';

export function SendPage() {
  const { t } = useTranslation();
  const { instance, kind = 'text', media, to } = useSearch({ from: '/signed-in/shell/messages/new' });
  const kinds = useSendKinds();
  return (
    <Page title={t('messages.form.title')}>
      <ChosenInstance instance={instance} to="/messages/new">
        {instance && (
          <Shown query={kinds}>
            {(known) => (
              <SendForm
                key={instance}
                instanceId={instance}
                kinds={known}
                first={{ path: kind, values: { media_id: media, to } }}
              >
                {(sent, onAgain) => <Accepted instanceId={instance} sent={sent} onAgain={onAgain} />}
              </SendForm>
            )}
          </Shown>
        )}
      </ChosenInstance>
    </Page>
  );
}

function Accepted(props: { instanceId: string; sent: Sent; onAgain: () => void }) {
  const { t } = useTranslation();
  const { instanceId, sent } = props;
  return (
    <Stack>
      <Alert color="green" variant="outline" role="status">
        <Text size="sm">{t(sent.isScheduled ? 'messages.form.scheduled' : 'messages.form.accepted')}</Text>
      </Alert>
      <Group>
        {sent.isScheduled ? (
          <ButtonLink to="/messages" search={{ instance: instanceId, show: 'scheduled' }}>
            {t('messages.form.openScheduled')}
          </ButtonLink>
        ) : (
          <ButtonLink
            to="/instances/$instanceId/messages/$messageId"
            params={{ instanceId, messageId: sent.message_id }}
          >
            {t('messages.form.open')}
          </ButtonLink>
        )}
        <Button variant="default" onClick={props.onAgain}>
          {t('messages.form.again')}
        </Button>
      </Group>
    </Stack>
  );
}
