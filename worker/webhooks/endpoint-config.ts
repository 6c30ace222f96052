import type { KeyObject } from 'node:crypto';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import { rotatedSecrets, type SecretColumns } from '@posthorn/core/webhooks/earlier-secrets.ts';
import { signingKey } from './sign.ts';

/** The settings of a webhook that a delivery needs, ready to use. */
export interface EndpointConfig {
  /** Version of the row it was made from; a claim returns the current one. */
  version: string;
  url: URL;
  webhookUrl: string;
  /** Path and query. */
  path: string;
  /** Name, value, name, value: the headers of each request besides the signature. */
  headers: readonly string[];
  key: KeyObject;
  /** Keys of rotated secrets, each until the end of its grace. */
  earlierKeys: readonly { key: KeyObject; untilMs: number }[];
  /** Why nothing can be sent: the secret was sealed with another key. Only its own deliveries fail. */
  unusable: Error | null;
}

const USER_AGENT = 'Posthorn-Webhooks/1';

/** Reads webhooks and opens their secrets; webhooks that are gone are missing from the result. */
export async function readEndpointConfigs(
  deps: { db: Sql; cipher: Cipher },
  webhookIds: readonly number[],
): Promise<Map<number, EndpointConfig>> {
  const { rows } = await deps.db.query<WebhookRow>({
    name: 'webhooks-for-delivery',
    text: `
      SELECT id, xmin::text AS version, url, headers, secret, previous_secret, previous_secret_expires_at,
        earlier_secrets
      FROM webhooks WHERE id = ANY ($1::int[])`,
    values: [webhookIds],
  });
  return new Map(rows.map((row) => [row.id, toUsableConfig(deps.cipher, row)]));
}

interface WebhookRow extends SecretColumns {
  id: number;
  version: string;
  url: string;
  headers: Buffer | null;
}

function toUsableConfig(cipher: Cipher, row: WebhookRow): EndpointConfig {
  try {
    return toConfig(cipher, row);
  } catch (cause) {
    const lost = row.headers
      ? 'its secret has to be rotated, and its headers set anew'
      : 'its secret has to be rotated';
    const unusable = new Error(`the webhook cannot be read, ${lost}`, { cause });
    const { version, url: webhookUrl } = row;
    return {
      version,
      url: NOWHERE,
      webhookUrl,
      path: '/',
      headers: [],
      key: NO_KEY,
      earlierKeys: [],
      unusable,
    };
  }
}

const NOWHERE = new URL('http://invalid.invalid/');
const NO_KEY = signingKey('');

function toConfig(cipher: Cipher, row: WebhookRow): EndpointConfig {
  const url = new URL(row.url);
  const custom = row.headers ? cipher.open<Record<string, string>>(row.headers) : {};
  return {
    version: row.version,
    url,
    webhookUrl: row.url,
    path: url.pathname + url.search,
    headers: headersOf(url, custom),
    key: signingKey(cipher.open<string>(row.secret)),
    earlierKeys: rotatedSecrets(cipher, row).map(({ secret, until }) => ({
      key: signingKey(secret),
      untilMs: Date.parse(until),
    })),
    unusable: null,
  };
}

function headersOf(url: URL, custom: Record<string, string>): string[] {
  const headers = new Map<string, string>([
    ['content-type', 'application/json'],
    ['user-agent', USER_AGENT],
    // Reading a compressed answer would mean unpacking it, so none is requested or unpacked.
    ['accept-encoding', 'identity'],
  ]);
  if (url.username !== '' || url.password !== '') {
    const credentials = `${unescaped(url.username)}:${unescaped(url.password)}`;
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  }
  for (const [name, value] of Object.entries(custom)) headers.set(name.toLowerCase(), value);
  return [...headers].flat();
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
