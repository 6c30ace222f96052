import { z } from 'zod/v4';
import { type ContentFamily, mentions } from './family.ts';

/** The real network's limit: longer texts are refused. */
const MAX_TEXT_CHARACTERS = 65_536;

const text = z.string().min(1).max(MAX_TEXT_CHARACTERS);
const preview = z.looseObject({ url: z.string() }).optional();

/** `{text, mentions?, preview?}`; as a status also `{background_color?, font?}`. */
export const textFamily: ContentFamily = {
  content: z.looseObject({ text, mentions, preview }),
  phoneBody: z.object({
    text,
    mentions,
    preview,
    background_color: z.string().optional(),
    font: z.int().optional(),
  }),
  words: (content) => content.text as string,
};
