import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface S3Account {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
}

/** Why a request is refused, in the words of S3. */
export interface Refusal {
  status: number;
  code: string;
  headers?: Record<string, string>;
}

const ALLOWED_SKEW_MS = 15 * 60_000;
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

/**
 * Checks Signature Version 4 as S3 documents it ("Authenticating Requests: Using the Authorization Header"), with the
 * whole body signed: a body without the sender's SHA-256 is refused.
 */
export function checkSignature(
  request: IncomingMessage,
  body: Buffer,
  account: S3Account,
  now: Date,
): Refusal | null {
  const { authorization = '' } = request.headers;
  const [, keyId, day, region, signedHeaders, signature] = AUTHORIZATION.exec(authorization) ?? [];
  if (!keyId || !day || !region || !signedHeaders || !signature) return refuse(403, 'AccessDenied');
  if (keyId !== account.accessKeyId) return refuse(403, 'InvalidAccessKeyId');
  const at = String(request.headers['x-amz-date']);
  if (!at.startsWith(day)) return refuse(403, 'AccessDenied');
  if (!(Math.abs(now.getTime() - timeOf(at)) <= ALLOWED_SKEW_MS)) return refuse(403, 'RequestTimeTooSkewed');

  const names = signedHeaders.split(';');
  const mustBeSigned = Object.keys(request.headers).filter((name) => name.startsWith('x-amz-'));
  if (!['host', ...mustBeSigned].every((name) => names.includes(name))) return refuse(403, 'AccessDenied');
  const payloadHash = String(request.headers['x-amz-content-sha256']);
  if (!/^[0-9a-f]{64}$/.test(payloadHash)) return refuse(501, 'NotImplemented');

  const canonical = [
    request.method,
    ...canonicalAddress(request.url!),
    ...names.map((name) => `${name}:${String(request.headers[name]).trim().replace(/\s+/g, ' ')}`),
    '',
    signedHeaders,
    payloadHash,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', at, scope, sha256(canonical)].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${account.secretAccessKey}`,
  );
  if (!timingSafeEqual(hmac(key, toSign), Buffer.from(signature, 'hex')))
    return refuse(403, 'SignatureDoesNotMatch');
  if (sha256(body) !== payloadHash) return refuse(400, 'XAmzContentSHA256Mismatch');
  if (region !== account.region)
    return { ...refuse(301, 'PermanentRedirect'), headers: { 'x-amz-bucket-region': account.region } };
  return null;
}

/** The path and the query, decoded and encoded anew, so that insufficient encoding by a client does not match. */
function canonicalAddress(url: string): [string, string] {
  const [path = '', query = ''] = url.split('?', 2);
  const pairs = query
    .split('&')
    .filter(Boolean)
    .map((pair) => pair.split('=', 2).map((part) => encode(decodeURIComponent(part))))
    .map(([name = '', value = '']) => `${name}=${value}`);
  const segments = path.split('/').map((segment) => encode(decodeURIComponent(segment)));
  return [segments.join('/'), pairs.sort().join('&')];
}

/** Encodes all but the unreserved characters of RFC 3986. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** `20261124T090500Z`, in milliseconds. */
function timeOf(at: string): number {
  return Date.parse(at.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}

const refuse = (status: number, code: string): Refusal => ({ status, code });
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
