import { isIP, isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod/v4';
import { type AddressRange, parseAddressRange } from './http/client-address.ts';

/** The forms of settings, whose errors say which form is taken. */

export const flag = z.stringbool({ error: 'must be true or false' });

/** One of these words. */
export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  const list = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  return z.enum(words, { error: `must be ${list}` });
}

/** A number of this range. */
export function numberOf(min: number, max: number) {
  const error = `must be a number from ${min} to ${max}`;
  return z.coerce.number({ error }).min(min, { error }).max(max, { error });
}

/** A whole number of this range. */
export function wholeOf(min: number, max = Number.MAX_SAFE_INTEGER) {
  const isBounded = max < Number.MAX_SAFE_INTEGER;
  const error = `must be a whole number${isBounded ? ` from ${min} to ${max}` : `, ${min} or more`}`;
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

/** A text of so many characters at least. */
export function textOf(minCharacters: number) {
  return z.string().min(minCharacters, { error: `must have at least ${minCharacters} characters` });
}

/** 0 takes a free one. */
export const port = wholeOf(0, 65_535);
export const positive = wholeOf(1);
/** A day at most: a timer that is given more than 24 days fires at once. */
export const seconds = wholeOf(1, 86_400);
/** A century at most: a date that is computed with more may be out of range. */
export const days = wholeOf(1, 36_500);

/**
 * A URL with one of these protocols. Without the protocol asked for, `app.example.com:3000` is a URL too, of the scheme
 * `app.example.com`.
 */
function urlOf(protocol: RegExp, form: string) {
  return z.url({ protocol, error: `must be a URL with ${form}` });
}
export const webUrl = urlOf(/^https?$/, 'http:// or https://');
export const socketUrl = urlOf(/^wss?$/, 'ws:// or wss://');
export const smtpUrl = urlOf(/^smtps?$/, 'smtp:// or smtps://');
export const standbyUrl = urlOf(/^postgres(ql)?$/, 'postgres://');

/** Comma-separated values, each of which `isOne`. */
export function listOf(isOne: (text: string) => boolean, expected: string) {
  return z
    .string()
    .default('')
    .transform((list, context) => {
      const texts = list.split(',').map((text) => text.trim());
      const given = texts.filter(Boolean);
      if (!given.every(isOne)) context.addIssue(`must be ${expected}, separated by commas`);
      return given;
    });
}

export const ENCRYPTION_KEY_FORM = /^[0-9a-fA-F]{64}$/;
export const HOST_NAME = /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/i;

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** `host:port` as a URL has them, whose IPv6 addresses stand in brackets. */
export function isHostAndPort(text: string): boolean {
  const [, host = '', v6, port = ''] = /^(\[([^\]]*)\]|[^:]+):(\d+)$/.exec(text) ?? [];
  const isHost = v6 === undefined ? HOST_NAME.test(host) : isIPv6(v6);
  return isHost && isPort(port);
}

export const MAILBOX = /^[^\s<>@]+@[^\s<>@]+$/;

/** `name@example.com`, or `Some Name <name@example.com>`. */
export const SENDER = /^(?:[^<>@\r\n]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/;

/** `address`, `address:port` or `[IPv6 address]:port`, as `node:dns` takes them. */
export function isServerAddress(text: string): boolean {
  const [bracketed, v6 = '', v6Port = '53'] = /^\[([^\]]*)\](?::(\d*))?$/.exec(text) ?? [];
  if (bracketed) return isIPv6(v6) && isPort(v6Port);
  const [host = '', port = '', ...more] = text.split(':');
  return isIP(text) !== 0 || (isIPv4(host) && more.length === 0 && isPort(port));
}

/** Comma-separated ranges or addresses. */
export const addressRanges = z
  .string()
  .default('')
  .transform((list, context): AddressRange[] => {
    const given = list
      .split(',')
      .map((text) => text.trim())
      .filter(Boolean);
    try {
      return given.map(parseAddressRange);
    } catch {
      context.addIssue('must be addresses or ranges like 10.0.0.0/8, separated by commas');
      return [];
    }
  });

/** The address or name that a server listens on. */
export const listenAddress = z
  .string()
  .refine(
    (text) => isIP(text) !== 0 || HOST_NAME.test(text),
    'must be an IP address or a host name, without a port',
  );

/** Older buckets have capitals and underscores in their names. */
export const bucketName = z
  .string()
  .regex(/^[\w.-]{3,222}$/, 'must be the name of a bucket, without s3://, gs:// or a path');
