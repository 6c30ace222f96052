import { NativeSelect, Textarea, TextInput } from '@mantine/core';
import { type CreateWebhookBody, PosthornError } from '@posthorn/sdk/index.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, textOf } from '../../api/api-error.tsx';
import { errorOfField } from '../../api/fault-words.ts';
import { SubmitForm } from '../../components/submit-form.tsx';
import { useInstances } from '../instances/use-instances.ts';

/** The fields of a webhook that the user chooses. The service checks the patterns. */
export type WebhookFields = Pick<CreateWebhookBody, 'url' | 'events' | 'instance_id'>;

export function WebhookForm(props: {
  initial: { url: string; events: readonly string[]; instance_id: string | null };
  label: string;
  busy: boolean;
  error: unknown;
  onSubmit: (fields: WebhookFields) => void;
}) {
  const { t } = useTranslation();
  const instances = useInstances();
  const [url, setUrl] = useState(props.initial.url);
  const [patterns, setPatterns] = useState(props.initial.events.join('\n'));
  const [instanceId, setInstanceId] = useState(props.initial.instance_id ?? '');
  const events = patterns.split(/[\s,]+/).filter(Boolean);
  return (
    <SubmitForm
      label={props.label}
      busy={props.busy}
      onSubmit={() =>
        props.onSubmit({ url, events: events as WebhookFields['events'], instance_id: instanceId || null })
      }
      error={props.error ? <ApiError error={props.error} /> : null}
    >
      <TextInput
        label={t('webhooks.url')}
        description={t('webhooks.urlHint')}
        type="url"
        maw={640}
        required
        error={isOfUrl(props.error) ? textOf(t, props.error) : errorOfField(t, props.error, 'url')}
        value={url}
        onChange={(event) => setUrl(event.target.value)}
      />
      <Textarea
        label={t('webhooks.events')}
        description={t('webhooks.eventsHint')}
        autosize
        minRows={2}
        maw={640}
        required
        error={errorOfField(t, props.error, 'events')}
        value={patterns}
        onChange={(event) => setPatterns(event.target.value)}
      />
      <NativeSelect
        label={t('webhooks.instance')}
        maw={420}
        value={instanceId}
        data={[
          { value: '', label: t('webhooks.everyInstance') },
          ...(instances.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
        ]}
        onChange={(event) => setInstanceId(event.target.value)}
      />
    </SubmitForm>
  );
}

/** True if the service refused the address, which it does without naming the field. */
function isOfUrl(error: unknown): boolean {
  return error instanceof PosthornError && error.code.startsWith('WEBHOOK_URL_');
}
