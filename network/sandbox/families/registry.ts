import type { ContentFamily } from './family.ts';
import { textFamily } from './text.ts';

/** Every content family that the network carries, by `type`. */
export const families: ReadonlyMap<string, ContentFamily> = new Map(
  [textFamily].map((family) => [family.type, family]),
);
