import { Stack, Title } from '@mantine/core';
import type { Message } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { useAuth } from '../../api/api-context.ts';
import { requestCode } from '../../api/request-code.ts';
import { Shown } from '../../api/shown.tsx';
import { useSendKinds } from '../../api/use-send-kinds.ts';
import { CodeTabs } from '../../components/code-tabs.tsx';
import { sendOfMessage } from './send-of-message.ts';

/** The request that sends this message once more, from a program. */
export function SameRequest({ message }: { message: Message }) {
  const { t } = useTranslation();
  const { baseUrl } = useAuth();
  const kinds = useSendKinds();
  return (
    <Shown query={kinds}>
      {(known) => {
        const send = sendOfMessage(message, known);
        if (!send) return null;
        const codes = requestCode({ baseUrl, instanceId: message.instance_id, ...send, file: null });
        return (
          <Stack gap="xs">
            <Title order={2} size="h5">
              {t('messages.form.code')}
            </Title>
            <CodeTabs codes={codes} />
          </Stack>
        );
      }}
    </Shown>
  );
}
