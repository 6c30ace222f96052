import {
  Alert,
  Button,
  FileInput,
  Group,
  SegmentedControl,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import type { SendAccepted } from '@posthorn/sdk/index.ts';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { ChosenInstance } from '../../api/chosen-instance.tsx';
import { ButtonLink } from '../../components/links.tsx';
import { Page } from '../../components/page.tsx';
import { SubmitForm } from '../../components/submit-form.tsx';
import { type Draft, useSend } from './use-send.ts';

export function SendPage() {
  const { t } = useTranslation();
  const { instance } = useSearch({ from: '/signed-in/shell/messages/new' });
  return (
    <Page title={t('messages.form.title')}>
      <ChosenInstance instance={instance} to="/messages/new">
        {instance && <SendForm key={instance} instanceId={instance} />}
      </ChosenInstance>
    </Page>
  );
}

interface Fields {
  kind: Draft['kind'];
  to: string;
  text: string;
  caption: string;
  file: File | null;
}

const EMPTY: Fields = { kind: 'text', to: '', text: '', caption: '', file: null };

function SendForm({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const [fields, setFields] = useState(EMPTY);
  const send = useSend(instanceId);
  // Another content under the same key would be refused.
  const change = (changed: Partial<Fields>) => {
    setFields({ ...fields, ...changed });
    if (!send.isIdle) send.renew();
  };
  if (send.data)
    return (
      <Accepted instanceId={instanceId} sent={send.data} onAgain={() => change({ text: '', file: null })} />
    );
  const isText = fields.kind === 'text';
  return (
    <SubmitForm
      label={t(isText ? 'messages.form.sendText' : 'messages.form.sendImage')}
      busy={send.isPending}
      onSubmit={() => {
        const draft = draftOf(fields);
        if (draft) send.mutate(draft);
      }}
      error={send.error && <ApiError error={send.error} hint={t('messages.form.sameKey')} />}
    >
      <SegmentedControl
        aria-label={t('messages.form.kind')}
        value={fields.kind}
        onChange={(kind) => change({ kind })}
        data={[
          { value: 'text', label: t('messages.form.text') },
          { value: 'image', label: t('messages.form.image') },
        ]}
        maw={320}
      />
      <TextInput
        label={t('messages.form.to')}
        description={t('messages.form.toHint')}
        maw={420}
        required
        value={fields.to}
        onChange={(event) => change({ to: event.target.value })}
      />
      {isText ? (
        <Textarea
          label={t('messages.form.text')}
          autosize
          minRows={4}
          maw={640}
          required
          value={fields.text}
          onChange={(event) => change({ text: event.target.value })}
        />
      ) : (
        <PictureFields fields={fields} onChange={change} />
      )}
    </SubmitForm>
  );
}

function PictureFields(props: { fields: Fields; onChange: (changed: Partial<Fields>) => void }) {
  const { t } = useTranslation();
  return (
    <>
      <FileInput
        label={t('messages.form.file')}
        placeholder={t('messages.form.chooseFile')}
        accept="image/*"
        maw={420}
        required
        value={props.fields.file}
        onChange={(file) => props.onChange({ file })}
      />
      <TextInput
        label={t('messages.form.caption')}
        maw={420}
        value={props.fields.caption}
        onChange={(event) => props.onChange({ caption: event.target.value })}
      />
    </>
  );
}

function draftOf({ kind, to, text, caption, file }: Fields): Draft | null {
  if (kind === 'text') return { kind, to, text };
  return file ? { kind, to, caption, file } : null;
}

function Accepted(props: { instanceId: string; sent: SendAccepted; onAgain: () => void }) {
  const { t } = useTranslation();
  const { instanceId, sent } = props;
  return (
    <Stack>
      <Alert color="green" variant="outline" role="status">
        <Text size="sm">{t('messages.form.accepted')}</Text>
      </Alert>
      <Group>
        <ButtonLink
          to="/instances/$instanceId/messages/$messageId"
          params={{ instanceId, messageId: sent.message_id }}
        >
          {t('messages.form.open')}
        </ButtonLink>
        <Button variant="default" onClick={props.onAgain}>
          {t('messages.form.again')}
        </Button>
      </Group>
    </Stack>
  );
}
