import type { Tool } from './tool.ts';

/** Sentences that tell an agent what it may do next; derived from the answer's shape, never from text of users. */
export function nextSteps(
  tool: Tool,
  answer: unknown,
  args: Readonly<Record<string, unknown>> = {},
): string[] {
  if (typeof answer !== 'object' || answer === null) return [];
  const fields = answer as Record<string, unknown>;
  const steps: string[] = [];
  if (!tool.isReading && isId(fields.message_id))
    steps.push(
      `It is queued. messages_waitFor with message_id ${fields.message_id} tells when it is delivered, messages_get how it stands now.`,
    );
  if (isId(fields.idempotency_key))
    steps.push(`To try again, pass idempotency_key ${fields.idempotency_key}: nothing is sent twice.`);
  const cursor = fields.next_cursor ?? fields.next_page_cursor ?? fields.next_before;
  // A cursor continues in the direction of the list: newest first, unless the request had `after`.
  const params = args.after === undefined ? ['cursor', 'before'] : ['after'];
  const param = params.find((name) => tool.query.includes(name));
  if ((typeof cursor === 'string' || typeof cursor === 'number') && cursor !== '' && param)
    steps.push(`There is more: call again with ${param} ${cursor}.`);
  const { page, limit, total } = fields;
  if (
    typeof page === 'number' &&
    typeof limit === 'number' &&
    typeof total === 'number' &&
    page * limit < total
  )
    steps.push(`There is more: call again with page ${page + 1}.`);
  return steps;
}

/** A value goes into a sentence only if it can be nothing but an id or a key. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.:-]{1,255}$/.test(value);
}
