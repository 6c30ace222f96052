import path from 'node:path';
import type { Standalone } from './start.ts';

/** The text shown once everything answers: the addresses, and the commands to type next. */
export function announce(standalone: Standalone, tookMs: number): string {
  const { messagingUrl, billingUrl, sandboxUrl, dataDir, databaseDir } = standalone;
  const steps = [...addresses(standalone), 'npx msgctl quick-register --email you@example.com'];
  const database = databaseDir === null ? 'DATABASE_URL' : databaseDir;
  return `
Posthorn is ready after ${(tookMs / 1000).toFixed(1)} s. Ctrl-C stops it.

  API       ${messagingUrl}
  billing   ${billingUrl}
  network   ${sandboxUrl === null ? 'SANDBOX_URL' : `${sandboxUrl}  (a sandbox: nothing leaves this machine)`}
  data      ${shown(dataDir)}
  database  ${shown(database)}

Next, in another terminal:

${steps.map((step) => `  ${step}`).join('\n')}

`;
}

/** The addresses msgctl uses by default. */
const MSGCTL_LOOKS_AT = {
  POSTHORN_URL: 'http://127.0.0.1:8080',
  POSTHORN_BILLING_URL: 'http://127.0.0.1:8081',
  POSTHORN_SANDBOX_URL: 'http://127.0.0.1:8090',
};

/** The command that tells msgctl about addresses other than its defaults. */
function addresses({ messagingUrl, billingUrl, sandboxUrl }: Standalone): string[] {
  const here = {
    POSTHORN_URL: messagingUrl,
    POSTHORN_BILLING_URL: billingUrl,
    POSTHORN_SANDBOX_URL: sandboxUrl ?? MSGCTL_LOOKS_AT.POSTHORN_SANDBOX_URL,
  };
  const names = Object.keys(here) as (keyof typeof here)[];
  const told = names.flatMap((name) => (here[name] === MSGCTL_LOOKS_AT[name] ? [] : `${name}=${here[name]}`));
  return told.length === 0 ? [] : [`export ${told.join(' ')}`];
}

/** Relative to the current folder if that is shorter. */
function shown(dir: string): string {
  const relative = path.relative('', dir);
  return relative.startsWith('..') || path.isAbsolute(relative) ? dir : relative;
}
