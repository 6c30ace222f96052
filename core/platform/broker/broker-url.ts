import { z } from 'zod/v4';

const HOSTS = 'hosts';

/**
 * A URL of RabbitMQ with several nodes of a cluster, `amqp://user:password@a:5672,b:5672/vhost`, as one that every URL parser
 * takes: the first node in its place, and all of them in the parameter `hosts`. A URL with one node is given back as it is.
 * Throws what is wrong with it, without its password.
 */
export function brokerUrl(text: string): string {
  const [, before, list, rest] = /^(amqps?:\/\/(?:[^@/?#]*@)?)([^@/?#]*)([/?#].*)?$/.exec(text) ?? [];
  if (before === undefined) throw new Error('must be a URL with amqp:// or amqps://');
  const hosts = list!.split(',');
  for (const host of hosts) {
    if (!URL.canParse(`http://${host}`))
      throw new Error(host === '' ? 'names an empty host' : 'is not a URL');
    // The client takes everything after the first colon for the port.
    if (hosts.length > 1 && host.startsWith('['))
      throw new Error('names several nodes: use host names or IPv4');
  }
  if (!URL.canParse(`${before}${hosts[0]}${rest ?? ''}`)) throw new Error('is not a URL');
  if (hosts.length === 1) return text;
  const url = new URL(`${before}${hosts[0]}${rest ?? ''}`);
  url.searchParams.set(HOSTS, hosts.join(','));
  return url.href;
}

/** The nodes of a URL of {@link brokerUrl}, each `host` or `host:port`; null where it names only one. */
export function nodesOf(url: string): string[] | null {
  return new URL(url).searchParams.get(HOSTS)?.split(',') ?? null;
}

/** A setting that is such a URL. */
export const amqpUrl = z.string().transform((text, context) => {
  try {
    return brokerUrl(text);
  } catch (err) {
    context.addIssue((err as Error).message);
    return z.NEVER;
  }
});
