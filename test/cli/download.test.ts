import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { type Answer, type HttpServer, startHttp } from '../sdk/http-server.ts';
import { type Cli, createCli } from './run-cli.ts';

const DOWNLOAD = ['media', 'download', '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a02'];
const whole: Answer = (res) => void res.end('new');
const cutOff: Answer = (res) => {
  res.writeHead(200, { 'content-length': 100 });
  res.write('half', () => res.destroy());
};

let answer: Answer;
let server: HttpServer;
let cli: Cli;
let dir: string;
let file: string;
before(async () => {
  server = await startHttp((res, request, index) => answer(res, request, index));
  cli = createCli({
    POSTHORN_URL: server.url,
    POSTHORN_API_KEY: 'svc_x',
    POSTHORN_INSTANCE: '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01',
  });
  dir = mkdtempSync(path.join(tmpdir(), 'posthorn-download-'));
  file = path.join(dir, 'cat.jpg');
});
after(async () => {
  cli.remove();
  await server.close();
  rmSync(dir, { recursive: true });
});

const content = () => [readdirSync(dir), readFileSync(file, 'utf8')];

test('a download that breaks off leaves the file that was there, and nothing beside it', async () => {
  writeFileSync(file, 'old');
  answer = cutOff;
  const { code, stderr } = await cli.run([...DOWNLOAD, file]);
  assert.equal(code, 1);
  assert.match(stderr, /^msgctl: [^\n]*cat\.jpg was not saved: [^\n]+\n$/);
  assert.deepEqual(content(), [['cat.jpg'], 'old']);
});

test('a download takes the place of the file that was there, and can go into a pipe', async () => {
  answer = whole;
  const saved = await cli.run([...DOWNLOAD, file]);
  assert.equal(saved.code, 0);
  assert.deepEqual(content(), [['cat.jpg'], 'new']);
  const pipe = path.join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const [read, piped] = await Promise.all([readFile(pipe, 'utf8'), cli.run([...DOWNLOAD, pipe])]);
  assert.deepEqual([piped.code, read], [0, 'new']);
});
