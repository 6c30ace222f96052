import { spawnSync } from 'node:child_process';
import { loadLibrary } from '@posthorn/network/whatsapp/library.ts';
import { projectRoot } from '../process.ts';

/**
 * Makes sure that the library of the WhatsApp driver is there, by the script that users have for it. Throws when it
 * cannot be installed: no test is skipped because it is missing.
 */
export async function ensureWhatsAppLibrary(): Promise<void> {
  const isThere = await loadLibrary().then(
    () => true,
    () => false,
  );
  if (isThere) return;
  const { status, stderr, error } = spawnSync('npm', ['run', 'whatsapp:install'], {
    cwd: projectRoot,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The tests need the WhatsApp library: ${error?.message ?? stderr}`);
}
