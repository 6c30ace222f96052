import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { startHttp } from '../sdk/http-server.ts';
import { baseEnv, projectRoot } from '../support/process.ts';
import { LAUNCHER } from './msgctl.ts';

const run = promisify(execFile);
const VERSION = JSON.parse(readFileSync(path.join(projectRoot, 'cli/package.json'), 'utf8'))
  .version as string;
const hasPinned = existsSync(path.join(projectRoot, 'node_modules/.bin/node'));

/** Makes the Node that runs the launcher report an old version; the Nodes that it starts report their own. */
const OLD = [
  '--import',
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})',
];

describe('the launcher', () => {
  test('is the program that npm links as msgctl, and can be run', async () => {
    const linked = path.join(projectRoot, 'node_modules/.bin/msgctl');
    accessSync(LAUNCHER, constants.X_OK);
    const { stdout } = await run(process.execPath, [linked, '--version']);
    assert.equal(stdout, `${VERSION}\n`);
  });

  test('hands over to the pinned Node on an old one, with its arguments, output and exit code', async () => {
    const outcome = await run(process.execPath, [...OLD, LAUNCHER, '--version']).catch((error) => error);
    if (!hasPinned) assert.match(outcome.stderr, /needs Node\.js 22\.18/);
    else assert.equal(outcome.stdout, `${VERSION}\n`);
    const failed = await run(process.execPath, [...OLD, LAUNCHER, 'nonsense']).catch((error) => error);
    assert.equal(failed.code, hasPinned ? 2 : 1);
    assert.equal(failed.stderr.split('\n').length, 2, 'one line');
  });

  test('names the needed version when there is neither', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'posthorn-launcher-'));
    mkdirSync(path.join(folder, 'cli/bin'), { recursive: true });
    writeFileSync(path.join(folder, 'cli/package.json'), '{"type":"module"}');
    copyFileSync(LAUNCHER, path.join(folder, 'cli/bin/msgctl.js'));
    const error = await run(process.execPath, [...OLD, path.join(folder, 'cli/bin/msgctl.js')]).catch(
      (it) => it,
    );
    assert.equal(error.code, 1);
    assert.equal(error.stderr, 'msgctl: needs Node.js 22.18 or newer, this is 20.20.2\n');
    rmSync(folder, { recursive: true });
  });

  test('passes signals on, and the command ends in order', async () => {
    const server = await startHttp(
      (res) => void res.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n'),
    );
    const child = spawn(process.execPath, [...(hasPinned ? OLD : []), LAUNCHER, 'events', 'tail'], {
      env: {
        ...baseEnv(),
        POSTHORN_URL: server.url,
        POSTHORN_API_KEY: 'svc_x',
        POSTHORN_CONFIG: '/nonexistent',
      },
    });
    while (server.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill('SIGINT');
    const [code, signal] = await once(child, 'exit');
    assert.deepEqual({ code, signal }, { code: 0, signal: null });
    await server.close();
  });
});
