import { z } from 'zod/v4';

const HOSTS = 'hosts';

export interface Host {
  host: string;
  port: number;
}

/**
 * A URL of PostgreSQL with several servers, `postgres://user:password@a:5432,b:5433/db`, as one that every URL parser
 * takes: the first server in its place, and all of them in the parameter `hosts`. A URL with one server is given back as it is.
 * Throws what is wrong with it, without its password.
 */
export function clusterUrl(text: string): string {
  const [, before, list, rest] =
    /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^@/?#]*)([/?#].*)?$/.exec(text) ?? [];
  if (before === undefined) throw new Error('must be a URL with postgres://');
  const hosts = list!.split(',');
  const url = parseUrl(`${before}${hosts[0]}${rest ?? ''}`);
  const wanted = url.searchParams.get('target_session_attrs') ?? 'read-write';
  if (!['read-write', 'primary'].includes(wanted))
    throw new Error('target_session_attrs must be read-write: everything here writes');
  if (hosts.length === 1) return text;
  for (const host of hosts)
    if (parseUrl(`postgres://${host}`).hostname === '') throw new Error('names an empty host');
  url.searchParams.set(HOSTS, hosts.join(','));
  return url.href;
}

function parseUrl(text: string): URL {
  if (!URL.canParse(text)) throw new Error('is not a URL');
  return new URL(text);
}

/** The servers of a URL of {@link clusterUrl}; none where it names only one. */
export function hostsOf(url: string): Host[] {
  const list = new URL(url).searchParams.get(HOSTS);
  return (list?.split(',') ?? []).map((text) => {
    const { hostname, port } = new URL(`postgres://${text}`);
    return { host: hostname.replace(/^\[(.+)\]$/, '$1'), port: Number(port || 5432) };
  });
}

/** A setting that is such a URL. */
export const databaseUrl = z.string().transform((text, context) => {
  try {
    return clusterUrl(text);
  } catch (err) {
    context.addIssue((err as Error).message);
    return z.NEVER;
  }
});
