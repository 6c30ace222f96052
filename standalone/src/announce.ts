import path from 'node:path';
import type { Standalone } from './start.ts';

/** The text shown once everything answers: the addresses, and the commands to type next. */
export function announce(standalone: Standalone, tookMs: number): string {
  const { messagingUrl, billingUrl, dataDir, databaseDir } = standalone;
  const steps = [...addresses(standalone), 'npx msgctl quick-register --email you@example.com'];
  const database = databaseDir === null ? 'DATABASE_URL' : databaseDir;
  return `
Posthorn is ready after ${(tookMs / 1000).toFixed(1)} s. Ctrl-C stops it.

  console   ${messagingUrl}/console
  API       ${messagingUrl}
  billing   ${billingUrl}
  network   ${networkOf(standalone)}
  data      ${shown(dataDir)}
  database  ${shown(database)}

Next, in another terminal:

${steps.map((step) => `  ${step}`).join('\n')}

`;
}

function networkOf({ sandboxUrl, networks }: Standalone): string {
  if (sandboxUrl === null) return networks.join(', ');
  const others = networks.filter((name) => name !== 'sandbox');
  if (others.length === 0) return `${sandboxUrl}  (a sandbox: nothing leaves this machine)`;
  return `${sandboxUrl}  (a sandbox), ${others.join(', ')}`;
}

/** The addresses msgctl uses by default. */
const MSGCTL_LOOKS_AT = {
  POSTHORN_URL: 'http://127.0.0.1:8080',
  POSTHORN_BILLING_URL: 'http://127.0.0.1:8081',
  POSTHORN_SANDBOX_URL: 'http://127.0.0.1:8090',
};

/**
 * The command that tells others about addresses other than the usual ones. msgctl finds those of the checkout that it is
 * called in by itself (note-addresses.ts), as far as they are this machine's.
 */
function addresses({ messagingUrl, billingUrl, sandboxUrl, dataDir }: Standalone): string[] {
  const here = {
    POSTHORN_URL: messagingUrl,
    POSTHORN_BILLING_URL: billingUrl,
    POSTHORN_SANDBOX_URL: sandboxUrl ?? MSGCTL_LOOKS_AT.POSTHORN_SANDBOX_URL,
  };
  const isFound = (url: string) => shown(dataDir) === '.data' && isLocal(messagingUrl) && isLocal(url);
  const names = Object.keys(here) as (keyof typeof here)[];
  const others = names.filter((name) => here[name] !== MSGCTL_LOOKS_AT[name]);
  const told = others.filter((name) => !isFound(here[name])).map((name) => `${name}=${here[name]}`);
  if (told.length > 0) return [`export ${told.join(' ')}`];
  if (!others.includes('POSTHORN_URL')) return [];
  return [`export POSTHORN_URL=${messagingUrl}  # for curl and the SDK; msgctl finds it in this folder`];
}

function isLocal(url: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
}

/** Relative to the current folder if that is shorter. */
function shown(dir: string): string {
  const relative = path.relative('', dir);
  return relative.startsWith('..') || path.isAbsolute(relative) ? dir : relative;
}
