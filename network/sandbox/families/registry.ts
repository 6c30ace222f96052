import { deleteFamily, editFamily, pinFamily, reactionFamily } from './changes.ts';
import type { ContentFamily } from './family.ts';
import { forwardFamily } from './forward.ts';
import { mediaFamilies } from './media.ts';
import { pollFamily, voteFamily } from './poll.ts';
import { structuredFamilies } from './structured.ts';
import { textFamily } from './text.ts';

const byType = {
  text: textFamily,
  ...mediaFamilies,
  ...structuredFamilies,
  poll: pollFamily,
  poll_vote: voteFamily,
  reaction: reactionFamily,
  edit: editFamily,
  delete: deleteFamily,
  pin: pinFamily,
  forward: forwardFamily,
} satisfies Record<string, ContentFamily>;

export type FamilyName = keyof typeof byType;

/** Every content family that the network carries, by `type`. */
export const families: ReadonlyMap<string, ContentFamily> = new Map(Object.entries(byType));
