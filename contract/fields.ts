/** Schemas that several resources share. Request schemas drop unknown fields. */
import { z } from 'zod/v4';
import { boundedArray } from './bounded.ts';
import type { ErrorCode } from './errors.ts';
import { isGroupJid, isUserJid, parseChat, parseRecipient } from './jid.ts';
import {
  EMAIL_MAX_CHARS,
  INTEGER_ID_MAX,
  MENTIONS_MAX,
  NAME_MAX_CHARS,
  NETWORK_ID_MAX_CHARS,
} from './limits.ts';

/** RFC 3339, e.g. `2026-01-31T12:00:00.000Z`. */
export const timestamp = z.iso.datetime({ offset: true });
export const uuid = z.uuid();
export const integerId = z.int().positive();
/** An id in a body that is looked up in a column of the type `integer`. A 0 names nothing: some clients send it for none. */
export const namedId = z.int().min(0).max(INTEGER_ID_MAX);
/** The same in a query. */
export const idQuery = z.coerce.number<number | string>().int().positive().max(INTEGER_ID_MAX);
/** The id before which a page begins, of a column of the type `bigint`. */
export const beforeQuery = z.coerce
  .number<number | string>()
  .int()
  .positive()
  .optional()
  .meta({ description: 'The next_before of the previous page' });

export const role = z.enum(['owner', 'admin', 'agent', 'superadmin']);
export type Role = z.infer<typeof role>;

/** The number of characters as people count them: an emoji is one, although it has two UTF-16 units. */
export function charsOf(text: string): number {
  return [...text].length;
}

/** `.max()` in such characters, which `maxLength` of JSON Schema counts as well: `.check(maxChars(255))`. */
export function maxChars(max: number): z.core.$ZodCheck<string> {
  const check = new z.core.$ZodCheckMaxLength({ check: 'max_length', maximum: max });
  const judgeUnits = check._zod.check;
  check._zod.check = (payload) => {
    if (charsOf(payload.value as string) > max) return judgeUnits(payload);
  };
  return check;
}

/** Trimmed, 1..255 characters. */
export const nameField = z.string().trim().min(1).check(maxChars(NAME_MAX_CHARS));

/** Trimmed and in lower case, so one mailbox is one account. */
export const emailField = z.string().trim().toLowerCase().min(1).max(EMAIL_MAX_CHARS).email();

/** Names the special code of a failed check: `.refine(ok, failsWith('INVALID_INSTANCE_NAME'))`. */
export function failsWith(
  code: ErrorCode,
  message?: string,
): { message?: string; params: { code: ErrorCode } } {
  return { ...(message === undefined ? {} : { message }), params: { code } };
}

/**
 * For a check whose message is promised word for word: it reaches the caller without the field's path.
 */
export function saysExactly(
  message: string,
  code: ErrorCode = 'BAD_REQUEST',
): { message: string; params: { code: ErrorCode; exact: true } } {
  return { message, params: { code, exact: true } };
}

/** A phone number, an individual JID or a group JID. */
export const recipient = z
  .string()
  .min(1)
  .superRefine((to, context) => {
    // The check above has already refused an empty one.
    const parsed = to === '' ? { jid: '' } : parseRecipient(to);
    if ('error' in parsed) context.addIssue({ code: 'custom', params: { code: parsed.error }, input: to });
  })
  .meta({ description: 'A phone number, an individual JID or a group JID', examples: ['+5511999990000'] });

/** A chat that is spoken of, not written to: also one that is known by an anonymous id alone. */
export const chatRef = z
  .string()
  .min(1)
  .superRefine((chat, context) => {
    const parsed = chat === '' ? { jid: '' } : parseChat(chat);
    if ('error' in parsed) context.addIssue({ code: 'custom', params: { code: parsed.error }, input: chat });
  })
  .meta({ description: 'A phone number or any JID', examples: ['+5511999990000'] });

/** The JID of a person that somebody names. */
function personOf(person: string, context: z.RefinementCtx<string>): string {
  const parsed = parseChat(person);
  if ('jid' in parsed && !isGroupJid(parsed.jid)) return parsed.jid;
  const code = 'error' in parsed ? parsed.error : 'INVALID_RECIPIENT';
  context.issues.push({ code: 'custom', params: { code }, input: person });
  return z.NEVER;
}

/** Somebody: a phone number, an individual JID or an anonymous id. Gives the JID. */
export const personRef = z
  .string()
  .min(1)
  .transform(personOf)
  .meta({
    description: 'A phone number, an individual JID or an anonymous id',
    examples: ['+5511999990000'],
  });

/** The same in a query, where it may be left out or empty. */
export const personQuery = z
  .string()
  .default('')
  .transform((person, context) => (person === '' ? '' : personOf(person, context)));

/** Not a JID, nor the business-scoped id of somebody, which is written without a server as well. */
function isPhone(text: string): boolean {
  if (text.includes('@')) return false;
  const parsed = parseRecipient(text);
  return 'jid' in parsed && isUserJid(parsed.jid);
}

/** A phone number alone, e.g. for a pairing code. */
export const phoneField = z
  .string()
  .min(1)
  .refine((phone) => phone === '' || isPhone(phone), failsWith('INVALID_PHONE'))
  .meta({ description: 'A phone number with country code', examples: ['+5511999990000'] });

/** The service's UUID of a message or the network's id of it: hex digits, or `wamid.` and base64. */
export const messageRef = z
  .string()
  .min(1)
  .max(NETWORK_ID_MAX_CHARS)
  .regex(/^[A-Za-z0-9._:+/=-]*$/, 'must be a message UUID or a network id')
  .meta({ description: 'The UUID or the network id of a message' });

export const optionalMessageRef = z
  .string()
  .max(NETWORK_ID_MAX_CHARS)
  .regex(/^[A-Za-z0-9._:+/=-]+$/, 'must be a message UUID or a network id')
  .optional();

export const mentions = boundedArray(
  z.string().regex(/^\d{5,20}@(s\.whatsapp\.net|lid)$/, 'must be an individual JID'),
  { max: MENTIONS_MAX },
).meta({ description: 'The JIDs of the people mentioned' });

/** An integer of the query string: below `min` is 400, above `max` counts as `max`. */
export function integerRange(range: { max: number; min?: number }) {
  return z.coerce
    .number<number | string>()
    .int()
    .min(range.min ?? 1)
    .transform((value) => Math.min(value, range.max));
}

/** The same, with a value that counts when none is given. */
export function integerQuery(range: { default: number; max: number; min?: number }) {
  return integerRange(range)
    .default(range.default)
    .meta({ description: `Default ${range.default}, at most ${range.max}` });
}

/** `page` and `limit` of a list. */
export function pageQuery(limit: { default: number; max: number }) {
  return { page: integerQuery({ default: 1, max: 1_000_000 }), limit: integerQuery(limit) };
}

/** `{data, total, page, limit}`, the shape of every list with page numbers. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({ data: z.array(item), total: z.int(), page: z.int(), limit: z.int() });
}

/** Beside a field that a page with a number leaves out once its rows have a megabyte together. */
export function omitted(field: string, elsewhere: string) {
  return z
    .literal(true)
    .optional()
    .meta({ description: `true when ${field} is omitted because this page has reached 1 MB; ${elsewhere}` });
}

const totalCapped = z
  .literal(true)
  .optional()
  .meta({ description: 'true when there are more records than `total` says, because counting stops there' });

/** As {@link pageOf}, for lists of logs: a total of millions would cost a scan, so it is counted to a bound. */
export function cappedPageOf<T extends z.ZodType>(item: T) {
  return pageOf(item).extend({ total_capped: totalCapped });
}

/** `{logs, total}` that is cut and counted to a bound. */
export function cappedLogsOf<T extends z.ZodType>(item: T) {
  return z.object({ logs: z.array(item), total: z.int(), total_capped: totalCapped });
}

/** A query for resources that are read without the network unless the caller asks for a refresh. */
export const refreshQuery = z
  .stringbool()
  .default(false)
  .meta({ description: 'true asks the network first; the instance must be connected' });

/** A time in the query string. */
export const sinceQuery = z.iso.datetime({ offset: true }).optional();
