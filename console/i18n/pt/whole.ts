import type { Translations } from '../translations.ts';
import * as pt from './index.ts';

/** Every text in Portuguese; one that is missing does not compile. */
export const translations: Translations = { ...pt };
