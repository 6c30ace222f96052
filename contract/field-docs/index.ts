import { billingDocs } from './billing.ts';
import { chatDocs } from './chats.ts';
import { commonDocs } from './common.ts';
import { eventDocs } from './events.ts';
import type { FieldDoc } from './field-doc.ts';
import { messagingDocs } from './messaging.ts';
import { queryDocs } from './query.ts';

const DOCS: ReadonlyMap<string, FieldDoc> = new Map(
  [commonDocs, messagingDocs, chatDocs, eventDocs, billingDocs, queryDocs].flatMap((docs) =>
    Object.entries(docs),
  ),
);

/**
 * The description of a field whose own schema has none, for documents and editors: most names mean the same wherever
 * they stand, so they are described once. `owner` is the id of the schema, with the names on the way inside it:
 * `Me` or `Me.company`. The field's own record goes before the one of its name.
 */
export function docOfField(owner: string, name: string): FieldDoc | undefined {
  return DOCS.get(`${owner}.${name}`) ?? DOCS.get(name);
}
