import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { jpeg } from '../media/samples.ts';
import { type MediaServer, startMediaServer } from '../media/support.ts';
import { type Cli, createCli } from './run-cli.ts';

let media: MediaServer;
let cli: Cli;
let dir: string;
before(async () => {
  media = await startMediaServer();
  cli = createCli({
    POSTHORN_URL: media.url,
    POSTHORN_API_KEY: media.company.apiKey,
    POSTHORN_INSTANCE: media.instanceId,
  });
  dir = await mkdtemp(path.join(tmpdir(), 'posthorn-cli-media-'));
});
after(async () => {
  cli.remove();
  await media.close();
  await rm(dir, { recursive: true, force: true, maxRetries: 10 });
});

test('media is uploaded, listed and described, and is downloaded byte for byte', async () => {
  const [file, copy] = [path.join(dir, 'cat.jpg'), path.join(dir, 'copy.jpg')];
  const bytes = await jpeg();
  await writeFile(file, bytes);
  const stored = await cli.json<{ media_id: string; file_name: string }>(['media', 'upload', file]);
  assert.equal(stored.file_name, 'cat.jpg');
  const list = await cli.json<{ data: { id: string }[]; total: number }>([
    'media',
    'list',
    '--type',
    'image/',
  ]);
  assert.deepEqual([list.total, list.data[0]!.id], [1, stored.media_id]);
  const info = await cli.json<{ file_size: number }>(['media', 'info', stored.media_id]);
  assert.equal(info.file_size, bytes.length);
  const chats = await cli.run(['media', 'chats']);
  assert.deepEqual([chats.code, chats.stdout.trim()], [0, 'no media']);
  await cli.json(['media', 'download', stored.media_id, copy]);
  assert.deepEqual(await readFile(copy), bytes);
});

test('a file that cannot be uploaded is reported in one line, with its own exit code', async () => {
  const nothing = await cli.run(['media', 'upload']);
  assert.notEqual(nothing.code, 0);
  assert.match(nothing.stderr, /give a file, or --from <url>/);
  const missing = await cli.run(['media', 'upload', path.join(dir, 'no such file')]);
  assert.match(missing.stderr, /cannot be read \(ENOENT\)/);
  const inside = await cli.run(['media', 'upload', '--from', 'http://127.0.0.1:1/']);
  assert.match(inside.stderr, /this address is not allowed/);
});
