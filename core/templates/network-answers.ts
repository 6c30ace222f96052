import { z } from 'zod/v4';
import type { NetworkActions, ReviewedTemplate } from '../network/actions.ts';

/** The parsers of a network's answers about templates. They bound every field: people filled them in elsewhere. */

const word = z.string().max(128);
const words = z.string().transform((value) => value.slice(0, 1_024));

const template: z.ZodType<ReviewedTemplate> = z.object({
  id: word.min(1),
  name: z.string().min(1).max(512),
  language: word,
  category: word,
  status: word,
  rejected_reason: word.nullable(),
  quality: word.nullable(),
  components: z
    .array(z.record(z.string(), z.unknown()))
    .transform((components) => components.slice(0, 32))
    .catch([]),
});

export const pageAnswer: z.ZodType<NetworkActions['template_list']['answer']> = z.object({
  templates: z.array(template),
  next_cursor: z.string().min(1).max(1_024).nullable(),
});

export const createdAnswer: z.ZodType<NetworkActions['template_create']['answer']> = z.union([
  z.object({ refused: words }),
  z.object({ id: word.min(1), status: word, category: word }),
]);

export const deletedAnswer = z.object({});
