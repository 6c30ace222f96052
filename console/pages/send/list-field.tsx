import { Button, Fieldset, Group, Input, Stack, Text, Textarea } from '@mantine/core';
import type { ComponentType } from 'react';
import { useTranslation } from 'react-i18next';
import { fieldHint, fieldName } from '../../api/field-words.ts';
import type { FieldSchema } from '../../api/use-send-kinds.ts';
import type { FieldProps } from './field-props.ts';
import type { Values } from './fields.ts';

/** A list: texts one a line, and a group of fields for each object, each drawn by `Field`. */
export function ListField(props: FieldProps & { Field: ComponentType<FieldProps> }) {
  const { t } = useTranslation();
  const { name, schema, value, required, onChange } = props;
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  if (schema.items?.type === 'object')
    return (
      <Groups
        {...props}
        items={items as Values[]}
        fields={Object.entries(schema.items.properties ?? {})}
        needed={schema.items.required ?? []}
      />
    );
  return (
    <Lines
      label={fieldName(t, name)}
      description={fieldHint(t, schema)}
      required={required}
      error={props.error}
      items={items.map(String)}
      onChange={onChange}
    />
  );
}

function Lines(props: {
  label: string;
  description: string | undefined;
  required: boolean;
  error: string | null | undefined;
  items: readonly string[];
  onChange: (items: string[]) => void;
}) {
  const { t } = useTranslation();
  const { items, onChange, description, ...input } = props;
  return (
    <Textarea
      {...input}
      description={[description, t('messages.form.onePerLine')].filter(Boolean).join('. ')}
      autosize
      minRows={2}
      maxRows={12}
      maw={560}
      value={items.join('\n')}
      onChange={(event) => onChange(event.target.value === '' ? [] : event.target.value.split('\n'))}
    />
  );
}

function Groups(props: {
  name: string;
  schema: FieldSchema;
  error?: string | null | undefined;
  items: readonly Values[];
  fields: [name: string, schema: FieldSchema][];
  needed: readonly string[];
  Field: ComponentType<FieldProps>;
  onChange: (items: Values[]) => void;
}) {
  const { t } = useTranslation();
  const { name, schema, items, fields, needed, Field, onChange } = props;
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  const shown = items.length < minItems ? [...items, ...Array(minItems - items.length).fill({})] : items;
  const change = (at: number, field: string, value: unknown) =>
    onChange(shown.map((item, index) => (index === at ? offeredOf({ ...item, [field]: value }) : item)));
  return (
    <Stack gap="xs" maw={560}>
      <Text size="sm" fw="var(--mantine-font-weight-medium)">
        {fieldName(t, name)}
      </Text>
      {schema.description && (
        <Text size="xs" c="dimmed">
          {fieldHint(t, schema)}
        </Text>
      )}
      {props.error && <Input.Error>{props.error}</Input.Error>}
      {shown.map((item, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the groups have nothing but their place
        <Fieldset key={at} legend={`${fieldName(t, name.replace(/s$/, ''))} ${at + 1}`}>
          <Stack gap="xs">
            {fields
              .filter(([field]) => isOffered(field, item))
              .map(([field, of]) => (
                <Field
                  key={field}
                  name={field}
                  schema={of}
                  required={needed.includes(field)}
                  value={item[field]}
                  onChange={(value) => change(at, field, value === '' ? undefined : value)}
                />
              ))}
          </Stack>
        </Fieldset>
      ))}
      <Group gap="xs">
        {shown.length < maxItems && (
          <Button size="xs" variant="default" onClick={() => onChange([...shown, {}])}>
            {t('messages.form.add')}
          </Button>
        )}
        {shown.length > minItems && (
          <Button size="xs" variant="default" onClick={() => onChange(shown.slice(0, -1))}>
            {t('messages.form.removeLast')}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

/** A component of a template has cards in place of parameters if it is a carousel. */
function isOffered(field: string, { type }: Values): boolean {
  if (field === 'cards') return type === 'carousel';
  return field !== 'parameters' || type !== 'carousel';
}

/** The values of a group without those of fields that it no longer shows. */
function offeredOf(item: Values): Values {
  return Object.fromEntries(Object.entries(item).filter(([field]) => isOffered(field, item)));
}
