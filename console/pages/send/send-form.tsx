import { NativeSelect, SimpleGrid, Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useAuth } from '../../api/api-context.ts';
import { errorOfField } from '../../api/fault-words.ts';
import { MutationForm } from '../../api/mutation-form.tsx';
import { requestCode } from '../../api/request-code.ts';
import { sendName } from '../../api/send-name.ts';
import { useDraft } from '../../api/use-draft.ts';
import type { SendKind } from '../../api/use-send-kinds.ts';
import { CodeTabs } from '../../components/code-tabs.tsx';
import { MomentInput } from '../../components/moment-input.tsx';
import { isPassing } from '../../session/connection.ts';
import { bodyOf, fieldsOf, type Values } from './fields.ts';
import { MediaSource } from './media-source.tsx';
import { Preview } from './preview.tsx';
import { SchemaField } from './schema-field.tsx';
import { type Sent, useSend } from './use-send.ts';

interface SendFormProps {
  instanceId: string;
  kinds: readonly SendKind[];
  /** The form's initial state. */
  first: { path: string; values: Values };
  children: (sent: Sent, onAgain: () => void) => ReactNode;
}

/** A form for any kind of send, made from the contract, with a preview of the phone and the request beside it. */
export function SendForm(props: SendFormProps) {
  const { t } = useTranslation();
  const { instanceId, kinds, first } = props;
  const { baseUrl } = useAuth();
  const form = `send ${instanceId}`;
  const [path, setPath] = useDraft(`${form} path`, first.path);
  const [values, setValues] = useDraft<Values>(`${form} values`, first.values);
  const [file, setFile] = useDraft<File | null>(`${form} file`, null);
  const [sendAt, setSendAt] = useDraft(`${form} at`, '');
  const { send, changed } = useSend(instanceId);
  const kind = kinds.find((one) => one.path === path) ?? kinds[0];
  if (!kind) return null;
  const change = (next: Values, nextFile: File | null) => {
    setValues(next);
    setFile(nextFile);
    changed();
  };
  if (send.data) return props.children(send.data, () => change({ to: values.to }, null));
  const body = bodyOf(kind, values);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl">
      <MutationForm
        label={sendAt ? t('messages.form.schedule') : sendName(t, kind)}
        mutation={send}
        hint={isPassing(send.error) ? t('messages.form.sameKey') : undefined}
        onSubmit={() => send.mutate({ kind, body, file, sendAt })}
      >
        <NativeSelect
          label={t('messages.form.kind')}
          maw={560}
          value={kind.path}
          data={kinds.map((one) => ({ value: one.path, label: sendName(t, one) }))}
          onChange={(event) => {
            setPath(event.target.value);
            change({ to: values.to }, null);
          }}
        />
        {kind.takesFile && (
          <MediaSource key={kind.path} kind={kind} values={values} file={file} onChange={change} />
        )}
        {fieldsOf(kind).map(([name, schema]) => (
          <SchemaField
            key={`${kind.path} ${name}`}
            name={name}
            schema={schema}
            required={kind.body.required?.includes(name) === true && (schema.minLength ?? 1) > 0}
            value={values[name]}
            error={errorOfField(t, send.error, name)}
            onChange={(value) => change({ ...values, [name]: value }, file)}
          />
        ))}
        <MomentInput
          label={t('messages.form.sendAt')}
          description={t('messages.form.sendAtHint')}
          maw={560}
          error={errorOfField(t, send.error, 'send_at')}
          value={sendAt}
          onChange={(value) => {
            setSendAt(value);
            changed();
          }}
        />
      </MutationForm>
      <Stack gap="lg">
        <Preview values={body} file={file} />
        <Stack gap="xs">
          <Title order={2} size="h5">
            {t('messages.form.code')}
          </Title>
          <CodeTabs codes={requestCode({ baseUrl, instanceId, kind, body, file, sendAt })} />
        </Stack>
      </Stack>
    </SimpleGrid>
  );
}
