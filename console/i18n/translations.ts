import type * as en from './en/index.ts';

type Texts<T> = { [K in keyof T]: T[K] extends string ? string : Texts<T[K]> };

/** The type of every language: the same texts as in English. */
export type Translations = Texts<typeof en>;
