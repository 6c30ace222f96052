import { NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FormCard } from '../../api/form-card.tsx';
import type { useTemplates } from './use-templates.ts';

const CATEGORIES = ['UTILITY', 'MARKETING', 'AUTHENTICATION'] as const;
const FIRST = { name: '', language: 'en_US', category: 'UTILITY' as (typeof CATEGORIES)[number], text: '' };
const PLACEHOLDER = /\{\{(\w+)\}\}/g;

/** Submits a text to Meta for review; each placeholder needs an example. */
export function TemplateForm({ create }: Pick<ReturnType<typeof useTemplates>, 'create'>) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState(FIRST);
  const [examples, setExamples] = useState<Readonly<Record<string, string>>>({});
  const { name, language, category, text } = draft;
  const placeholders = [...new Set([...text.matchAll(PLACEHOLDER)].map(([, word = '']) => word))];
  const change = (part: Partial<typeof FIRST>) => setDraft({ ...draft, ...part });
  return (
    <FormCard
      title={t('templates.new')}
      text={t('templates.newText')}
      label={t('templates.submit')}
      mutation={create}
      done={create.data && t('templates.given', { name: create.data.name })}
      onSubmit={() =>
        create.mutate(
          { name, language, category, components: [bodyOf(text, placeholders, examples)] },
          { onSuccess: () => setDraft({ ...FIRST, language, category }) },
        )
      }
    >
      <TextInput
        label={t('common.fields.name')}
        description={t('templates.nameHint')}
        required
        maw={420}
        value={name}
        onChange={(event) => change({ name: event.target.value })}
      />
      <TextInput
        label={t('templates.language')}
        required
        maw={420}
        value={language}
        onChange={(event) => change({ language: event.target.value })}
      />
      <NativeSelect
        label={t('templates.category')}
        maw={420}
        value={category}
        data={CATEGORIES.map((value) => ({ value, label: t(`templates.categories.${value}`) }))}
        onChange={(event) => change({ category: event.target.value as typeof category })}
      />
      <Textarea
        label={t('templates.text')}
        description={t('templates.textHint', { first: '{{1}}', second: '{{2}}' })}
        required
        autosize
        minRows={2}
        maw={560}
        value={text}
        onChange={(event) => change({ text: event.target.value })}
      />
      {placeholders.map((word) => (
        <TextInput
          key={word}
          label={t('templates.example', { word: `{{${word}}}` })}
          required
          maw={420}
          value={examples[word] ?? ''}
          onChange={(event) => setExamples({ ...examples, [word]: event.target.value })}
        />
      ))}
    </FormCard>
  );
}

/** The template's body. Examples of numbered placeholders are in their order, those of named ones by name. */
function bodyOf(text: string, placeholders: readonly string[], examples: Readonly<Record<string, string>>) {
  if (placeholders.length === 0) return { type: 'BODY' as const, text };
  const isNumbered = placeholders.every((word) => /^\d+$/.test(word));
  const inOrder = isNumbered ? placeholders.toSorted((a, b) => Number(a) - Number(b)) : placeholders;
  const example = isNumbered
    ? { body_text: [inOrder.map((word) => examples[word] ?? '')] }
    : {
        body_text_named_params: inOrder.map((word) => ({ param_name: word, example: examples[word] ?? '' })),
      };
  return { type: 'BODY' as const, text, example };
}
