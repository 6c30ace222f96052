/** A JSON object, as the documents are made of. */
export type Json = Record<string, unknown>;
