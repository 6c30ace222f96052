import { Button, Divider, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { exactTime } from '../../components/time-text.tsx';
import type { Values } from './fields.ts';

/** Shows the content of the form roughly as a phone will. */
export function Preview({ values, file }: { values: Values; file: File | null }) {
  const { t, i18n } = useTranslation();
  const text = (name: string) => (typeof values[name] === 'string' ? (values[name] as string) : '');
  const list = (name: string) => (Array.isArray(values[name]) ? (values[name] as unknown[]) : []);
  const buttons = list('buttons') as { text?: string }[];
  const opening = text('button_text') ? [{ text: text('button_text') }] : [];
  const contacts = list('contacts') as { contact_name?: string }[];
  const words = text('text') || text('caption') || text('body_text') || text('question');
  const names = [text('contact_name'), ...contacts.map((one) => one.contact_name ?? ''), text('name')];
  const where = [values.latitude, values.longitude].filter((degrees) => degrees !== undefined).join(', ');
  return (
    <section className="phone" aria-label={t('messages.form.preview')}>
      <Stack gap={4} className="bubble" data-empty={t('messages.form.previewEmpty')}>
        {file && <FilePreview file={file} />}
        {(text('title') || text('url')) && (
          <Text size="sm" className="foreign quoted">
            {[text('title'), text('description'), text('url')].filter(Boolean).join('\n')}
          </Text>
        )}
        {names.filter(Boolean).map((name) => (
          <Text key={name} size="sm" fw={600} className="foreign">
            {name}
          </Text>
        ))}
        {where && <Text size="sm">📍 {where}</Text>}
        {text('address') && <Small text={text('address')} />}
        {text('start_at') && <Small text={exactTime(text('start_at'), i18n.language)} />}
        {words && (
          <Text size="sm" className="foreign">
            {words}
          </Text>
        )}
        {text('emoji') && <Text size="xl">{text('emoji')}</Text>}
        {list('options').map((option, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two options may be equal while one types
          <Text key={at} size="sm" className="foreign">
            ○ {String(option)}
          </Text>
        ))}
        {text('footer_text') && <Small text={text('footer_text')} />}
        {buttons.length + opening.length > 0 && <Divider />}
        {[...buttons, ...opening].map((button, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two buttons may be equal while one types
          <Button key={at} component="span" variant="subtle" size="compact-sm">
            {button.text || '…'}
          </Button>
        ))}
      </Stack>
    </section>
  );
}

function Small({ text }: { text: string }) {
  return (
    <Text size="xs" c="dimmed" className="foreign">
      {text}
    </Text>
  );
}

function FilePreview({ file }: { file: File }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  const isPicture = file.type.startsWith('image/');
  return (
    <div className="media">
      {isPicture && url ? (
        <img src={url} alt={file.name} />
      ) : (
        <Text size="sm" className="foreign">
          📎 {file.name}
        </Text>
      )}
    </div>
  );
}
