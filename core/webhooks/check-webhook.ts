import { apiError } from '@posthorn/contract/api-error.ts';
import { isPrivateAddress } from '../platform/http/address-ranges.ts';

export interface WebhookPolicy {
  /** Private addresses, any port and plain http: for webhooks to localhost in standalone. */
  allowPrivate: boolean;
  /** Production: https only (WHK-2). */
  requireHttps: boolean;
}

const PORTS: ReadonlySet<string> = new Set(['', '80', '443', '8080', '8443']);
/** Names that no public DNS resolves, or only to ourselves. */
const LOCAL_NAME = /(^|\.)(localhost|local|internal|home\.arpa)\.?$/;

/**
 * Refuses a URL for faults that it shows by itself: 400 WEBHOOK_URL_INVALID (WHK-2: plain HTTP in production,
 * unsupported scheme, SSRF), WEBHOOK_URL_BLOCKED (a port that is never contacted). The addresses that a name resolves
 * to are judged at each delivery, since they may change after this.
 */
export function checkWebhookUrl(text: string, policy: WebhookPolicy): void {
  if (!URL.canParse(text)) throw invalid('must be an http or https URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw invalid('must be an http or https URL');
  if (url.username !== '' || url.password !== '') throw invalid('must not hold credentials: use headers');
  if (policy.allowPrivate) return;
  if (policy.requireHttps && url.protocol !== 'https:') throw invalid('must be https');
  // The parser has normalized the host: 2130706433, 0x7f.1 and 127.1 have all become 127.0.0.1.
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const literal = url.hostname.startsWith('[') || /^[\d.]+$/.test(host);
  if (literal ? isPrivateAddress(host) : LOCAL_NAME.test(host))
    throw invalid('must not point to a private address');
  if (!PORTS.has(url.port)) throw apiError('WEBHOOK_URL_BLOCKED');
}

function invalid(why: string) {
  return apiError('WEBHOOK_URL_INVALID', { message: `url: ${why}` });
}

/** Hop-by-hop headers and those that the delivery makes itself. */
const REFUSED_HEADER =
  /^(webhook-.*|host|content-.*|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect)$/i;

/** 400 BAD_REQUEST for a header that must not be set by the user. */
export function checkWebhookHeaders(headers: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(headers)) {
    if (REFUSED_HEADER.test(name))
      throw apiError('BAD_REQUEST', { message: `headers.${name}: is a header that the service sets itself` });
  }
}
