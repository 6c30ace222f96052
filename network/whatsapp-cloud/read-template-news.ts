/** Reads the news of a template's review from a webhook. No I/O, no clock. */
import type { NetworkFact, TemplateChange } from '@posthorn/core/network/facts.ts';
import type { valueShape } from './webhook-shapes.ts';

type Value = ReturnType<typeof valueShape.parse>;

/** The fields that are about templates, with what each tells; null for a value that does not say it. */
const CHANGES: Readonly<Record<string, (value: Value) => TemplateChange | null>> = {
  message_template_status_update: ({ event, reason }) =>
    // The network writes NONE where there is no reason.
    event ? { of: 'status', status: event, reason: reason && reason !== 'NONE' ? reason : null } : null,
  message_template_quality_update: ({ new_quality_score: quality, previous_quality_score: previous }) =>
    quality ? { of: 'quality', quality, previous: previous ?? null } : null,
  // With `correct_category` it announces a change: the new category is the present one.
  template_category_update: ({
    new_category: category,
    previous_category: previous,
    correct_category: next,
  }) => (category && !next ? { of: 'category', category, previous: previous ?? null } : null),
};

/** The fact, or undefined for a field or a value that tells none. */
export function readTemplateNews(field: string, value: Value, at: Date): NetworkFact | undefined {
  const read = Object.hasOwn(CHANGES, field) ? CHANGES[field] : undefined;
  const change = read?.(value);
  const { message_template_id: id, message_template_name: name, message_template_language: language } = value;
  if (!change || id === undefined) return undefined;
  return { kind: 'template', templateId: String(id), name: name ?? '', language: language ?? '', change, at };
}
