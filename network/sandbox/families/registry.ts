import { deleteFamily, editFamily, pinFamily, reactionFamily } from './changes.ts';
import type { ContentFamily } from './family.ts';
import { forwardFamily } from './forward.ts';
import { mediaFamilies } from './media.ts';
import { pollFamily, voteFamily } from './poll.ts';
import { structuredFamilies } from './structured.ts';
import { textFamily } from './text.ts';

/** All content families the network carries, by `type`. */
export const families: ReadonlyMap<string, ContentFamily> = new Map(
  [
    textFamily,
    ...mediaFamilies,
    ...structuredFamilies,
    pollFamily,
    voteFamily,
    reactionFamily,
    editFamily,
    deleteFamily,
    pinFamily,
    forwardFamily,
  ].map((family) => [family.type, family]),
);
