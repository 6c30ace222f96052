import { isIP } from 'node:net';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Cipher } from '../platform/encryption.ts';
import { isPrivateAddress } from '../platform/http/address-ranges.ts';

/** The rules for an instance's proxy, and the cipher that seals it. */
export interface ProxyRules {
  cipher: Cipher;
  /** Proxies may stand at private addresses. A name is judged again by the driver, when it is resolved. */
  allowPrivate: boolean;
}

/** Networks that are reached directly, whatever a user says: a part of the installation, and one that asks for no disguise. */
const WITHOUT_PROXY: ReadonlySet<string> = new Set(['sandbox', 'whatsapp-cloud']);

/**
 * The proxy of an instance as its row keeps it; null for none. 400 BAD_REQUEST for one at a private address, and on
 * a network that takes none. The contract has seen that it is an address of the right kind.
 */
export function takeProxy(
  rules: ProxyRules,
  driver: string,
  address: string | null,
): { proxy: Buffer | null; proxyShown: string | null } {
  if (address === null) return { proxy: null, proxyShown: null };
  if (WITHOUT_PROXY.has(driver))
    throw apiError('BAD_REQUEST', { message: `proxy: the network ${driver} does not support a proxy` });
  if (!rules.allowPrivate && isPrivateHost(address))
    throw apiError('BAD_REQUEST', { message: 'proxy: must be at a public address' });
  return { proxy: rules.cipher.seal(address), proxyShown: withoutPassword(address) };
}

/**
 * Judged as those who connect to it read it: `0x7f.1`, `127.1` and `2130706433` are addresses to them, in any case and
 * with the dot of a full name. An unknown scheme leaves its host as it is written, and that of the web does not.
 */
function isPrivateHost(address: string): boolean {
  const written = `http://${new URL(address).hostname}`;
  if (!URL.canParse(written)) return true;
  const host = new URL(written).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  return isIP(host) !== 0 && isPrivateAddress(host);
}

/** The address as users see it again. */
function withoutPassword(address: string): string {
  const { protocol, username, host } = new URL(address);
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}`;
}
