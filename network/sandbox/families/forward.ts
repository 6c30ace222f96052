import { z } from 'zod/v4';
import { findTarget } from '../state/recipients.ts';
import { type ContentFamily, noWords } from './family.ts';
import type { MediaInfo } from './media.ts';

const source = z.object({
  chat: z.string(),
  id: z.string(),
  from_me: z.boolean().optional(),
  sender: z.string().optional(),
});

/**
 * `{source: {chat, id}}`: enters as a copy of the source, from the sender's device. Messages written by
 * others or forwarded before get the forwarded mark (SND-27).
 */
export const forwardFamily: ContentFamily = {
  content: z.object({ source }),
  phoneBody: z
    .object({ chat: z.string(), message_id: z.string() })
    .transform(({ chat, message_id }) => ({ source: { chat, id: message_id } })),
  words: noWords,
  admit(world, entering) {
    const { chat, ...target } = entering.content.source as z.infer<typeof source>;
    const found = findTarget(world, entering.from, chat, target);
    if (!found) return 'forward_source_not_found';
    if (found.marks.deleted) return 'forward_source_deleted';
    const media = found.content.media as MediaInfo | undefined;
    if (media && (!world.cdn.has(media.handle) || world.faults.expiresMedia(entering.from))) {
      return 'forward_source_media_unavailable';
    }
    const { mentions: _, status: __, ...content } = found.content;
    const marked = found.from !== entering.from || found.forwarded > 0;
    return { ...entering, type: found.type, content, forwarded: marked ? found.forwarded + 1 : 0 };
  },
};
