import { Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { fieldHint, fieldName } from '../../api/field-words.ts';
import { MomentInput } from '../../components/moment-input.tsx';
import type { FieldProps } from './field-props.ts';
import { ListField } from './list-field.tsx';
import { NumberField } from './number-field.tsx';

/** A text whose limit is at least this gets a field with several lines. */
const LONG_CHARS = 60_000;
/** Texts that have lines, however long they may be: a field with one line joins what is pasted. */
const OF_LINES: readonly string[] = ['vcard', 'body_text'];

/** The input for a field, with the values, meaning and limits of its schema. */
export function SchemaField(props: FieldProps) {
  const { t } = useTranslation();
  const { schema, value, onChange } = props;
  const label = fieldName(t, props.name);
  const common = {
    label,
    description: fieldHint(t, schema, label),
    required: props.required,
    error: props.error,
    maw: 560,
  };
  const text = typeof value === 'string' ? value : '';
  if (schema.type === 'array') return <ListField {...props} Field={SchemaField} />;
  if (schema.type === 'boolean')
    return (
      <Checkbox
        label={common.label}
        description={common.description}
        checked={Boolean(value ?? schema.default)}
        onChange={(event) => onChange(event.target.checked)}
      />
    );
  if (schema.enum)
    return (
      <NativeSelect
        {...common}
        value={String(value ?? '')}
        data={['', ...schema.enum.map(String)]}
        onChange={(event) => onChange(schema.enum?.find((option) => String(option) === event.target.value))}
      />
    );
  if (schema.type === 'number' || schema.type === 'integer')
    return (
      <NumberField
        {...common}
        value={typeof value === 'number' ? value : undefined}
        allowDecimal={schema.type === 'number'}
        {...(schema.minimum === undefined ? {} : { min: schema.minimum })}
        {...(schema.maximum === undefined ? {} : { max: schema.maximum })}
        onChange={onChange}
      />
    );
  if (schema.format === 'date-time') return <MomentInput {...common} value={text} onChange={onChange} />;
  if ((schema.maxLength ?? 0) > LONG_CHARS || OF_LINES.includes(props.name))
    return (
      <Textarea
        {...common}
        autosize
        minRows={3}
        maxRows={14}
        maxLength={schema.maxLength}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  return (
    <TextInput
      {...common}
      maxLength={schema.maxLength}
      pattern={schema.pattern}
      placeholder={schema.examples?.[0] === undefined ? undefined : String(schema.examples[0])}
      value={text}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
