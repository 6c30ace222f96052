import path from 'node:path';
import type { Standalone } from './start.ts';

/** What the screen shows once everything answers: where it is, and what to type next. */
export function announce(standalone: Standalone, tookMs: number): string {
  const { messagingUrl, billingUrl, sandboxUrl, dataDir, databaseDir } = standalone;
  const database = databaseDir === null ? 'DATABASE_URL' : databaseDir;
  return `
Posthorn is ready after ${(tookMs / 1000).toFixed(1)} s. Ctrl-C stops it.

  API       ${messagingUrl}
  billing   ${billingUrl}
  network   ${sandboxUrl === null ? 'SANDBOX_URL' : `${sandboxUrl}  (a sandbox: nothing leaves this machine)`}
  data      ${shown(dataDir)}
  database  ${shown(database)}

Next, in another terminal:

  npx msgctl quick-register --email you@example.com

`;
}

/** Relative where that is shorter. */
function shown(dir: string): string {
  const relative = path.relative('', dir);
  return relative.startsWith('..') || path.isAbsolute(relative) ? dir : relative;
}
