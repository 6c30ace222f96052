import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ChosenInstance } from '../../api/chosen-instance.tsx';
import { Shown } from '../../api/shown.tsx';
import { useSendKinds } from '../../api/use-send-kinds.ts';
import { ButtonLink } from '../../components/links.tsx';
import { Page } from '../../components/page.tsx';
import { SendForm } from '../send/send-form.tsx';

/** The form of the sends that post a status. */
export function PostStatusPage() {
  const { t } = useTranslation();
  const { instance } = useSearch({ from: '/signed-in/shell/messages/status/new' });
  const kinds = useSendKinds();
  return (
    <Page title={t('status.post')}>
      <ChosenInstance instance={instance} to="/messages/status/new">
        {instance && (
          <Shown query={kinds}>
            {(known) => (
              <SendForm
                key={instance}
                instanceId={instance}
                kinds={known.filter(({ path }) => path.startsWith('status/'))}
                first={{ path: 'status/text', values: {} }}
              >
                {({ isScheduled }, onAgain) => (
                  <Posted instance={instance} isScheduled={isScheduled} onAgain={onAgain} />
                )}
              </SendForm>
            )}
          </Shown>
        )}
      </ChosenInstance>
    </Page>
  );
}

function Posted(props: { instance: string; isScheduled: boolean; onAgain: () => void }) {
  const { t } = useTranslation();
  const { instance, isScheduled } = props;
  return (
    <Stack>
      <Alert color="green" variant="outline" role="status">
        <Text size="sm">{t(isScheduled ? 'messages.form.scheduled' : 'messages.form.accepted')}</Text>
      </Alert>
      <Group>
        {isScheduled ? (
          <ButtonLink to="/messages" search={{ instance, show: 'scheduled' }}>
            {t('messages.form.openScheduled')}
          </ButtonLink>
        ) : (
          <ButtonLink to="/messages/status" search={{ instance }}>
            {t('status.open')}
          </ButtonLink>
        )}
        <Button variant="default" onClick={props.onAgain}>
          {t('status.again')}
        </Button>
      </Group>
    </Stack>
  );
}
