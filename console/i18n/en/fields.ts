/** The fields of sends by their names, and what is said of them by the words of the contract, which are English. */
export const fieldNames: Readonly<Record<string, string>> = {};
export const fieldHints: Readonly<Record<string, string>> = {};
/** Whole messages of the service that have no code of their own. */
export const sentences: Readonly<Record<string, string>> = {};
