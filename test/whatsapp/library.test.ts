import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { loadLibrary } from '@posthorn/network/whatsapp/library.ts';
import { projectRoot } from '../support/process.ts';

const LIBRARY = '@whiskeysockets/baileys';

/** A folder that asks for a version of the library, with another or none installed. */
async function folderWith(t: TestContext, installed: string | null): Promise<URL> {
  const folder = await mkdtemp(path.join(tmpdir(), 'posthorn-library-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
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

  it('is named in its own folder alone, and pinned: a plain install brings nothing under the GPL', async () => {
    const read = async (file: string) => JSON.parse(await readFile(path.join(projectRoot, file), 'utf8'));
    const { packages } = (await read('package-lock.json')) as {
      packages: Record<string, { license?: string }>;
    };
    const names = Object.keys(packages);
    assert.equal(
      names.some((name) => name.endsWith(LIBRARY) || name.endsWith('/libsignal')),
      false,
    );
    // LGPL is not GPL: nothing that is linked with it takes its terms over.
    const under = names.filter((name) => /(^|[^L])GPL/.test(packages[name]?.license ?? ''));
    assert.deepEqual(under, []);
    const { dependencies } = (await read('network/whatsapp/library/package.json')) as {
      dependencies: Record<string, string>;
    };
    assert.deepEqual(dependencies, { [LIBRARY]: '7.0.0-rc14' });
  });
});
