import type { IncomingMessage } from 'node:http';

/**
 * The sandbox requires no credentials, so any browser on this machine could be tricked into controlling it.
 * Two headers tell a web page from a program, and a page can't forge either: the `Origin` of a request from
 * another site, and the `Host` of a site whose own name was made to resolve to this machine (DNS rebinding).
 */
export interface Guard {
  /** Why the request is refused, or null. Applies to everything, including downloads and WebSockets. */
  refuseOrigin(request: IncomingMessage): string | null;
  /**
   * The same for the control API, which only this machine may use unless `SANDBOX_ALLOWED_HOSTS` says
   * otherwise.
   */
  refuseHost(request: IncomingMessage): string | null;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const ANY_ADDRESS = new Set(['0.0.0.0', '::']);

/** `host` is the server's listening address; requests may use it as a name, unless it means all addresses. */
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
      return 'the sandbox refuses requests from web pages of other origins';
    },
    refuseHost({ headers }) {
      if (isOurs(nameOf(headers.host))) return null;
      return 'the sandbox does not accept this host name: add it to SANDBOX_ALLOWED_HOSTS';
    },
  };
}

/** The host name without the port, as a URL spells it; null if it is invalid. */
function nameOf(host: string | undefined): string | null {
  const url = `http://${host}`;
  return host && URL.canParse(url) && new URL(url).host !== '' ? new URL(url).hostname : null;
}
