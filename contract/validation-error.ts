import type { z } from 'zod/v4';
import { ApiError } from './api-error.ts';
import { type ErrorCode, isErrorCode } from './errors.ts';

export type RequestPart = 'body' | 'query' | 'headers' | 'path';

export type Issue = z.core.$ZodIssue;

/** The codes of a part whose shape is wrong; a route may have its own (`RouteMeta.bodyCodes`). */
export interface InputCodes {
  missing: ErrorCode;
  invalid: ErrorCode;
  /** A body that is no JSON, or has text that can't be stored; INVALID_JSON and BAD_REQUEST without it. */
  malformed?: ErrorCode;
  /** Codes of single fields, for any fault of the field. */
  fields?: Readonly<Record<string, ErrorCode>>;
  /** The value that the use case gets for a missing or malformed body, where the use case judges the body. */
  fallback?: unknown;
}

const DEFAULT_CODES: InputCodes = { missing: 'MISSING_FIELD', invalid: 'BAD_REQUEST' };

/**
 * The code and public message of a failed validation: a missing or empty field gives MISSING_FIELD, a check made with
 * `failsWith` gives its own code, and any other fault gives BAD_REQUEST. When there are several issues, a missing field
 * is reported first, because the caller has to mend it first. A missing value in the query gives BAD_REQUEST.
 *
 * `input` is the value that was parsed. Zod does not say whether an enum's value was absent or of a wrong type, so the
 * path is followed in `input`; without `input` the issue's text decides.
 */
export function codeOfIssues(
  issues: readonly Issue[],
  part: RequestPart,
  input?: unknown,
  codes: InputCodes = DEFAULT_CODES,
): { code: ErrorCode; message: string } {
  const missing = issues.find((issue) => isMissing(issue, input));
  const exact = missing ? undefined : exactOf(issues);
  if (exact) return exact;
  const issue = missing ?? issues[0];
  if (!issue) return { code: codes.invalid, message: `the ${part} is not valid` };
  const where = issue.path.length === 0 ? part : pathText(issue.path);
  const ofField = codes.fields?.[String(issue.path[0])];
  if (ofField) return { code: ofField, message: `${where}: ${missing ? 'is required' : textOf(issue)}` };
  if (missing && missing.path.length > 0)
    return {
      code: part === 'query' ? 'BAD_REQUEST' : codes.missing,
      message: `${where}: is required`,
    };
  const special = issue.code === 'custom' ? (issue.params?.code as unknown) : undefined;
  return { code: isErrorCode(special) ? special : codes.invalid, message: `${where}: ${textOf(issue)}` };
}

/**
 * Parses one part of a request, or throws the ApiError that says what is wrong with it. An absent part
 * counts as an empty one, so the answer names the first field that is missing. With a `fallback` nothing is thrown.
 */
export function parseInput<S extends z.ZodType>(
  schema: S,
  input: unknown,
  part: RequestPart,
  codes?: InputCodes,
): z.output<S> {
  const value = input === undefined ? {} : input;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  if (codes?.fallback !== undefined) return codes.fallback as z.output<S>;
  throw inputError(result.error.issues, part, value, codes);
}

/** The ApiError that says what is wrong with one part of a request. */
export function inputError(
  issues: readonly Issue[],
  part: RequestPart,
  input: unknown,
  codes?: InputCodes,
): ApiError {
  const { code, message } = codeOfIssues(issues, part, input, codes);
  return new ApiError(code, { message });
}

/** The first check that brings its whole message along (`saysExactly`). */
function exactOf(issues: readonly Issue[]): { code: ErrorCode; message: string } | undefined {
  for (const issue of issues) {
    if (issue.code !== 'custom' || issue.params?.exact !== true || !isErrorCode(issue.params.code)) continue;
    return { code: issue.params.code, message: issue.message };
  }
  return undefined;
}

function isMissing(issue: Issue, input: unknown): boolean {
  if (issue.code === 'too_small') return issue.origin === 'string' && issue.minimum === 1;
  if (issue.code === 'custom') return false;
  if (input !== undefined) return valueAt(input, issue.path) === undefined;
  return issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const key of path) {
    if (value === null || typeof value !== 'object') return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

/** `contacts[2].vcard`. */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at === 0 ? '' : '.'}${String(key)}`))
    .join('');
}

const DEFAULT_TEXTS: Partial<Record<ErrorCode, string>> = {
  INVALID_PHONE: 'is not a valid phone number',
  INVALID_RECIPIENT: 'is not a valid phone number, individual JID or group JID',
  INVALID_INSTANCE_NAME: 'must have 3 to 80 characters',
  WEBHOOK_URL_INVALID: 'must be an http or https URL',
  INSTANCE_ID_REQUIRED: 'is required',
  INVALID_STATUS: 'must be all, success, failure or stuck',
};

function textOf(issue: Issue): string {
  // A record's bad key hides what its own check said.
  if (issue.code === 'invalid_key' && issue.issues[0]) return issue.issues[0].message;
  const special = issue.code === 'custom' ? (issue.params?.code as ErrorCode | undefined) : undefined;
  const text =
    special && DEFAULT_TEXTS[special] && issue.message === 'Invalid input'
      ? DEFAULT_TEXTS[special]
      : issue.message;
  // Zod's "Invalid input: expected string, received number" reads better without its preface.
  return (text ?? '').replace(/^(Invalid input|Too small|Too big|Invalid option): /, '');
}
