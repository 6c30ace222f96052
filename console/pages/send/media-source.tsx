import { FileInput, SegmentedControl, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { fieldHint, fieldName } from '../../api/field-words.ts';
import type { SendKind } from '../../api/use-send-kinds.ts';
import { SOURCES, type Values } from './fields.ts';

const WAYS = ['file', ...SOURCES] as const;
type Way = (typeof WAYS)[number];

/** The source of a send with media: a local file, an address, or stored media. */
export function MediaSource(props: {
  kind: SendKind;
  values: Values;
  file: File | null;
  onChange: (values: Values, file: File | null) => void;
}) {
  const { t } = useTranslation();
  const { kind, values, file, onChange } = props;
  const [way, setWay] = useState<Way>(() => SOURCES.find((source) => values[source]) ?? 'file');
  return (
    <Stack gap="xs">
      <SegmentedControl
        aria-label={t('messages.form.source')}
        maw={420}
        value={way}
        data={WAYS.map((value) => ({ value, label: t(`messages.form.sources.${value}`) }))}
        onChange={(chosen) => {
          setWay(chosen as Way);
          onChange({ ...values, media_url: undefined, media_id: undefined }, null);
        }}
      />
      {way === 'file' ? (
        <FileInput
          label={t('messages.form.file')}
          placeholder={t('messages.form.chooseFile')}
          maw={560}
          required
          value={file}
          onChange={(chosen) => onChange(values, chosen)}
        />
      ) : (
        <TextInput
          key={way}
          label={fieldName(t, way)}
          description={fieldHint(t, kind.body.properties?.[way] ?? {})}
          type={way === 'media_url' ? 'url' : 'text'}
          maw={560}
          required
          value={String(values[way] ?? '')}
          onChange={(event) => onChange({ ...values, [way]: event.target.value }, null)}
        />
      )}
    </Stack>
  );
}
