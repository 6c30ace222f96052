import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { loadLibrary } from '@posthorn/network/whatsapp/library.ts';

const LIBRARY = '@whiskeysockets/baileys';

/** A folder that asks for a version of the library, with another or none installed. */
async function folderWith(t: TestContext, installed: string | null): Promise<URL> {
  const folder = await mkdtemp(path.join(tmpdir(), 'posthorn-library-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  await writeFile(
    path.join(folder, 'package.json'),
    JSON.stringify({ dependencies: { [LIBRARY]: '7.0.0-rc14' } }),
  );
  if (installed !== null) {
    const at = path.join(folder, 'node_modules', LIBRARY);
    await mkdir(at, { recursive: true });
    await writeFile(path.join(at, 'package.json'), JSON.stringify({ name: LIBRARY, version: installed }));
  }
  return pathToFileURL(`${folder}/`);
}

describe('the library of the WhatsApp driver', () => {
  it('is asked for in one line where it is not installed', async (t) => {
    await assert.rejects(loadLibrary(await folderWith(t, null)), ({ message }: Error) => {
      assert.match(
        message,
        /^The WhatsApp driver needs \S+ 7\.0\.0-rc14, which is not installed: run "npm run [\w:]+"/,
      );
      assert.equal(message.includes('\n'), false);
      return true;
    });
  });

  it('is refused in one line where it is another version', async (t) => {
    await assert.rejects(loadLibrary(await folderWith(t, '7.0.0')), ({ message }: Error) => {
      assert.match(message, /7\.0\.0-rc14, but 7\.0\.0 is installed: run "npm run [\w:]+"$/);
      return true;
    });
  });
});
