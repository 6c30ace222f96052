import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The addresses of a service that `npm start` runs. */
export interface RunningService {
  url: string;
  billingUrl: string | undefined;
  sandboxUrl: string | undefined;
}

/**
 * The service that `npm start` runs in the checkout that contains the folder. It writes its addresses to `.data/`
 * (standalone/src/note-addresses.ts). Null when none runs. Only addresses of this machine count: a key must not follow
 * a file that somebody left in a folder.
 */
export function findRunningService(folder: string): RunningService | null {
  const found = read(path.join(folder, '.data', 'addresses.json'));
  if (found) return found;
  const parent = path.dirname(folder);
  return parent === folder ? null : findRunningService(parent);
}

function read(file: string): RunningService | null {
  try {
    const { pid, ...addresses } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    const [url, billingUrl, sandboxUrl] = [
      'POSTHORN_URL',
      'POSTHORN_BILLING_URL',
      'POSTHORN_SANDBOX_URL',
    ].map((name) => localUrl(addresses[name]));
    if (url === undefined || !isAlive(pid)) return null;
    return { url, billingUrl, sandboxUrl };
  } catch {
    return null;
  }
}

function localUrl(given: unknown): string | undefined {
  return typeof given === 'string' && isLocal(given) ? given : undefined;
}

/** Whether an address is this machine's own. */
export function isLocal(url: string): boolean {
  return URL.canParse(url) && ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
}

/** A service that was killed leaves its file behind. */
function isAlive(pid: unknown): boolean {
  if (typeof pid !== 'number' || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
