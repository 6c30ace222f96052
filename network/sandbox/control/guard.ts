import type { IncomingMessage } from 'node:http';

/**
 * The sandbox asks nobody for a credential, so whatever a browser on this machine can be talked into would be
 * done. Two things tell a web page from a program, and a page can't forge either: the `Origin` of a request
 * that came from another site, and the `Host` of one whose own name was made to point here (DNS rebinding).
 */
export interface Guard {
  /** Why the request is refused, or null. Of everything, downloads and WebSockets included. */
  refuseOrigin(request: IncomingMessage): string | null;
  /** The same for the control API, which is for this machine unless `SANDBOX_ALLOWED_HOSTS` says otherwise. */
  refuseHost(request: IncomingMessage): string | null;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const ANY_ADDRESS = new Set(['0.0.0.0', '::']);

/** `host` is where the server listens: reachable by that name, unless it stands for all addresses. */
export function createGuard(options: { host: string; allowedHosts: readonly string[] }): Guard {
  const own = ANY_ADDRESS.has(options.host) ? [] : [options.host];
  const allowed = new Set(
    [...own, ...options.allowedHosts]
      .map((host) => host.trim().toLowerCase())
      .filter(Boolean)
      .map((host) => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host)),
  );
  const isOurs = (name: string | null) => name !== null && (LOOPBACK.test(name) || allowed.has(name));

  return {
    refuseOrigin({ headers }) {
      const { origin } = headers;
      if (origin === undefined) return null;
      const from = URL.canParse(origin) ? new URL(origin) : null;
      if (from && from.host === headers.host?.toLowerCase() && isOurs(from.hostname)) return null;
      return 'the sandbox takes no requests from web pages of other origins';
    },
    refuseHost({ headers }) {
      if (isOurs(nameOf(headers.host))) return null;
      return 'the sandbox is not asked by this name: SANDBOX_ALLOWED_HOSTS may name it';
    },
  };
}

/** Without the port, as a URL spells it; null when it is no host at all. */
function nameOf(host: string | undefined): string | null {
  const url = `http://${host}`;
  return host && URL.canParse(url) && new URL(url).host !== '' ? new URL(url).hostname : null;
}
