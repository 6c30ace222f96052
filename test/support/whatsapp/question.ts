import type { LinkedDevice } from './linked-device.ts';
import type { Stanza } from './nodes.ts';
import type { World } from './world.ts';

/** Content of the result; an `error` makes it an error. */
export type Answer = { error: number; text: string } | readonly Stanza[];
/** Answers a question of a device (`iq`). */
export type Question = (world: World, device: LinkedDevice, stanza: Stanza) => Answer;
