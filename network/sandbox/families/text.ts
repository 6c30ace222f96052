import { z } from 'zod/v4';
import type { ContentFamily } from './family.ts';

/** As the real network has it: longer texts are refused. */
const MAX_TEXT_CHARACTERS = 65_536;

const text = z.string().min(1).max(MAX_TEXT_CHARACTERS);
const mentions = z.array(z.string()).optional();

/** `{text, mentions?}`. */
export const textFamily: ContentFamily = {
  type: 'text',
  content: z.looseObject({ text, mentions }),
  phoneBody: z.object({ text, mentions }),
  words: (content) => content.text as string,
};
