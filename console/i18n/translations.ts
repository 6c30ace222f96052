import type * as en from './en/index.ts';

type Texts<T> = { [K in keyof T]: T[K] extends string ? string : Texts<T[K]> };

/** What every language has: the texts of English, in its own words. */
export type Translations = Texts<typeof en>;
