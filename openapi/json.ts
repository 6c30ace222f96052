/** A JSON object; the documents consist of these. */
export type Json = Record<string, unknown>;
