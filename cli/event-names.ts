/** Every event's name. The build writes the finished list in place of this module. */
import { EVENT_TYPES } from '@posthorn/contract/events.ts';

export const EVENT_NAMES: readonly string[] = EVENT_TYPES;
