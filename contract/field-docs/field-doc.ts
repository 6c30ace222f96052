/** The meaning of a field, and an example value: `null` and lists are values too. */
export type FieldDoc = readonly [description: string, example?: unknown];

/** By `Schema.field`, `Schema.field.inner` or `field`; the longer name wins. */
export type FieldDocs = Readonly<Record<string, FieldDoc>>;
