import { FileInput, NativeSelect } from '@mantine/core';
import type { PlaygroundSent } from '@posthorn/sdk/index.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { errorOfField } from '../../api/fault-words.ts';
import { MutationForm } from '../../api/mutation-form.tsx';
import { sendName } from '../../api/send-name.ts';
import type { SendKind } from '../../api/use-send-kinds.ts';
import { bodyOf, fieldsOf, type Values } from '../send/fields.ts';
import { SchemaField } from '../send/schema-field.tsx';
import { usePlaygroundSend } from './use-playground.ts';

/** The recipient is fixed, and messages of the playground quote and mention nobody. */
const LEFT_OUT: readonly string[] = ['to', 'quoted_id', 'mentions'];

/** The form of a send, without what the playground decides. */
export function PlaygroundForm(props: {
  kinds: readonly SendKind[];
  onSent: (sent: PlaygroundSent) => void;
}) {
  const { t } = useTranslation();
  const { kinds, onSent } = props;
  const [path, setPath] = useState('text');
  const [values, setValues] = useState<Values>({});
  const [file, setFile] = useState<File | null>(null);
  const send = usePlaygroundSend((sent) => {
    setValues({});
    setFile(null);
    onSent(sent);
  });
  const kind = kinds.find((one) => one.path === path) ?? kinds[0];
  if (!kind) return null;
  const change = (next: Values, nextFile: File | null) => {
    setValues(next);
    setFile(nextFile);
    if (!send.isIdle) send.reset();
  };
  return (
    <MutationForm
      label={sendName(t, kind)}
      mutation={send}
      onSubmit={() => send.mutate({ kind: kind.path, body: bodyOf(kind, values), file })}
    >
      <NativeSelect
        label={t('messages.form.kind')}
        maw={560}
        value={kind.path}
        data={kinds.map((one) => ({ value: one.path, label: sendName(t, one) }))}
        onChange={(event) => {
          setPath(event.target.value);
          change({}, null);
        }}
      />
      {kind.takesFile && (
        <FileInput
          label={t('messages.form.file')}
          placeholder={t('messages.form.chooseFile')}
          maw={560}
          required
          value={file}
          onChange={(chosen) => change(values, chosen)}
        />
      )}
      {fieldsOf(kind)
        .filter(([name]) => !LEFT_OUT.includes(name))
        .map(([name, schema]) => (
          <SchemaField
            key={`${kind.path} ${name}`}
            name={name}
            schema={schema}
            required={kind.body.required?.includes(name) === true}
            value={values[name]}
            error={errorOfField(t, send.error, name)}
            onChange={(value) => change({ ...values, [name]: value }, file)}
          />
        ))}
    </MutationForm>
  );
}
