import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Decoder, NESTABLE, NESTED_MAX, READS_MAX } from '@posthorn/network/whatsapp/bounded-decode.ts';
import { loadLibrary } from '@posthorn/network/whatsapp/library.ts';
import { nested } from '../support/whatsapp/fields.ts';

interface Codec {
  fromObject(value: object): object;
  encode(value: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
}

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

  it('decodes so many parts of what a phone made, and no more', async () => {
    const { proto } = (await loadLibrary()) as unknown as { proto: Record<string, Codec> };
    const message = { key: { id: 'A' }, message: { conversation: 'Hello' }, messageTimestamp: 1 };
    const messages = Array.from({ length: 50_000 }, () => ({ message }));
    const history = proto.HistorySync!.fromObject({ syncType: 3, conversations: [{ id: '1', messages }] });
    const bytes = proto.HistorySync!.encode(history).finish();
    const { conversations } = proto.HistorySync!.decode(bytes) as {
      conversations: [{ messages: unknown[] }];
    };
    assert.equal(conversations[0].messages.length, 50_000);
    // Field 1 of each is a message, which is empty here.
    const many = Buffer.alloc(READS_MAX + 2, Buffer.of((1 << 3) | 2, 0));
    for (const name of ['SyncdMutations', 'SyncdSnapshot', 'SyncdPatch', 'HistorySync'])
      assert.throws(() => proto[name]!.decode(many), /^Error: what the phone sent has too many parts$/, name);
  });

  it('decodes messages in each other to a limited depth', async () => {
    const { proto } = (await loadLibrary()) as unknown as { proto: Record<string, Codec> };
    for (const depth of [1, NESTED_MAX - 1]) assert.ok(proto.Message!.decode(nested(depth)));
    for (const depth of [NESTED_MAX, 500, 5_500, 6_000, 8_000])
      assert.throws(() => proto.Message!.decode(nested(depth)), /^Error: messages are nested too deeply$/);
    // A failure leaves nothing behind.
    assert.ok(proto.Message!.decode(nested(NESTED_MAX - 1)));
  });

  it('limits the depth of every type that can hold itself', async () => {
    const { proto } = (await loadLibrary()) as unknown as { proto: Record<string, Decoder> };
    const types = typesWithin(proto);
    const seen = NESTABLE.filter((name) => types.delete(name));
    assert.equal(seen.length, NESTABLE.length);
    assert.ok(types.size > 400);
    // A type whose only inner types were removed cannot contain itself.
    for (let before = Number.NaN; before !== types.size; ) {
      before = types.size;
      for (const [name, held] of types) if (!held.some((each) => types.has(each))) types.delete(name);
    }
    assert.deepEqual([...types.keys()], []);
  });
});

/** Each type of the library by its name, with the types that its decoder decodes. */
function typesWithin(types: object, path = '', found = new Map<string, string[]>()): Map<string, string[]> {
  for (const [name, type] of Object.entries(types)) {
    if (typeof type !== 'function' || !('decode' in type)) continue;
    const source = String(type.decode);
    found.set(
      path + name,
      [...source.matchAll(/\$root\.proto\.([\w.]+)\.decode\(/g)].map(([, held]) => held!),
    );
    typesWithin(type, `${path}${name}.`, found);
  }
  return found;
}
