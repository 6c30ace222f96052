import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { imageWorkspaces, packImageContext } from '../../release/image-context.ts';
import { blocksOf } from '../docs/guide-blocks.ts';
import { type HttpServer, json, startHttp } from '../sdk/http-server.ts';
import { baseEnv, projectRoot } from '../support/process.ts';

const run = promisify(execFile);
const env = { ...baseEnv(), PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}` };
const readJson = (...file: string[]) => JSON.parse(readFileSync(path.join(...file), 'utf8'));
const versionOf = (folder: string): string => readJson(projectRoot, folder, 'package.json').version;

describe('npm run release:pack', { timeout: 300_000 }, () => {
  let folder: string;
  let told: string;
  let server: HttpServer;
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'posthorn-release-'));
    const command = ['run', '--silent', 'release:pack', '--', '--into', folder];
    told = (await run('npm', command, { cwd: projectRoot, env })).stdout;
    server = await startHttp((res) => json(res, 200, { data: [], total: 0, page: 1, limit: 50 }));
    for (const [name, file] of Object.entries(files())) {
      await run('mkdir', [path.join(folder, name)]);
      await run('tar', ['-xzf', path.join(folder, file), '-C', path.join(folder, name)]);
    }
  });
  after(async () => {
    await server?.close();
    rmSync(folder, { recursive: true });
  });

  const files = () => ({
    sdk: `posthorn-sdk-${versionOf('sdk')}.tgz`,
    cli: `posthorn-cli-${versionOf('cli')}.tgz`,
  });

  test('leaves one file for each package, prints their sizes, and publishes nothing', () => {
    const packed = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
    assert.deepEqual(packed.sort(), Object.values(files()).sort());
    for (const [name, file] of Object.entries(files())) {
      const kB = (statSync(path.join(folder, file)).size / 1_000).toFixed(1);
      assert.ok(
        told.includes(`@posthorn/${name} ${versionOf(name)}: ${path.join(folder, file)}, ${kB} kB`),
        told,
      );
    }
    assert.match(told, /nothing was published/);
  });

  test('leaves the checksums of all files, and notes with the text of the changesets', async () => {
    const made = readdirSync(folder).filter((name) => /^(posthorn-|NOTES)/.test(name));
    const sums = readFileSync(path.join(folder, 'SHA256SUMS'), 'utf8').trim().split('\n');
    assert.deepEqual(sums.map((line) => line.slice(66)).sort(), made.sort());
    await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder });
    const notes = readFileSync(path.join(folder, 'NOTES.md'), 'utf8');
    for (const name of ['sdk', 'cli']) {
      assert.match(notes, new RegExp(`^## @posthorn/${name} ${versionOf(name)}$`, 'm'));
      const changelog = readFileSync(path.join(projectRoot, name, 'CHANGELOG.md'), 'utf8');
      const section = changelog.split(/^## /m).find((part) => part.startsWith(`${versionOf(name)}\n`));
      assert.ok(notes.includes(section!.trimEnd()), notes);
    }
  });

  test('packs the files that the Dockerfile copies, the same bytes each time, and nothing that git does not know', async () => {
    const { version } = readJson(projectRoot, 'package.json');
    const file = path.join(folder, `posthorn-image-context-${version}.tar.gz`);
    const packed = (await run('tar', ['-tzf', file])).stdout.trim().split('\n');
    for (const wanted of ['deploy/Dockerfile', '.dockerignore', 'package-lock.json', 'worker/main.ts'])
      assert.ok(packed.includes(wanted), wanted);
    const known = await run('git', ['ls-files'], { cwd: projectRoot, maxBuffer: 1e8 });
    const isKnown = new Set(known.stdout.split('\n'));
    assert.deepEqual(
      packed.filter((name) => !isKnown.has(name)),
      [],
    );
    const again = path.join(folder, 'again.tar.gz');
    packImageContext(projectRoot, again);
    assert.deepEqual(readFileSync(again), readFileSync(file));
  });

  test('lists in the bill of materials each package that the image installs, at its version, and none for development', () => {
    const { version } = readJson(projectRoot, 'package.json');
    const bill = readJson(folder, `posthorn-image-${version}.cdx.json`);
    assert.equal(bill.bomFormat, 'CycloneDX');
    const refs = new Set<string>(bill.components.map((each: { 'bom-ref': string }) => each['bom-ref']));
    for (const name of imageWorkspaces(projectRoot)) {
      const { dependencies = {} } = readJson(projectRoot, name, 'package.json');
      for (const [dependency, pinned] of Object.entries(dependencies as Record<string, string>))
        if (!dependency.startsWith('@posthorn/')) assert.ok(refs.has(`${dependency}@${pinned}`), dependency);
    }
    const { devDependencies } = readJson(projectRoot, 'package.json');
    for (const name of ['typescript', '@biomejs/biome', 'knip'])
      assert.ok(!refs.has(`${name}@${devDependencies[name]}`), name);
  });

  test('the commands of the guides pack both and install them', async () => {
    const guide = readFileSync(path.join(projectRoot, 'docs/guides/README.md'), 'utf8');
    const [pack, install] = blocksOf(guide).filter(({ notRun }) =>
      notRun?.includes('release.serial.slow.test.ts'),
    );
    assert.equal(pack?.code, 'npm run release:pack\n');
    const elsewhere = path.join(folder, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(path.join(elsewhere, 'package.json'), '{}');
    const home = { ...env, HOME: elsewhere, npm_config_prefix: path.join(elsewhere, 'global') };
    // This folder, not the checkout, has the packages that were packed above.
    const commands = install?.code.replaceAll('<checkout>/release/packed', folder) ?? '';
    await run('/bin/sh', ['-e', '-c', commands], { cwd: elsewhere, env: home });
    const { stdout } = await run(path.join(elsewhere, 'global/bin/msgctl'), ['--version'], { env: home });
    assert.equal(stdout, `${versionOf('cli')}\n`);
    assert.equal(readJson(elsewhere, 'node_modules/@posthorn/sdk/package.json').version, versionOf('sdk'));
  });

  test('the packages carry the version of their manifests, and say it in User-Agent and --version', async () => {
    for (const name of ['sdk', 'cli']) {
      const manifest = readJson(folder, name, 'package/package.json');
      assert.equal(manifest.version, versionOf(name));
      assert.equal(manifest.private, undefined);
      assert.match(readFileSync(path.join(folder, name, 'package/CHANGELOG.md'), 'utf8'), /^# Changelog/);
    }
    const entry = pathToFileURL(path.join(folder, 'sdk/package/index.js')).href;
    const { createClient, VERSION } = await import(entry);
    assert.equal(VERSION, versionOf('sdk'));
    await createClient({ baseUrl: server.url, apiKey: 'svc_x' }).instances.list();
    /** Without the part about the Node that it runs on. */
    const agent = () => server.seen.at(-1)?.headers['user-agent']?.replace(/ \(node.*\)$/, '');
    assert.equal(agent(), `posthorn-sdk/${versionOf('sdk')}`);
    const msgctl = (...args: string[]) =>
      run(process.execPath, [path.join(folder, 'cli/package/msgctl.js'), ...args], {
        env: { ...env, HOME: folder, POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x' },
      });
    assert.equal((await msgctl('--version')).stdout, `${versionOf('cli')}\n`);
    await msgctl('instances', 'list');
    assert.equal(agent(), `msgctl/${versionOf('cli')} posthorn-sdk/${versionOf('sdk')}`);
  });

  test('refuses a version that its changelog does not describe, before it builds anything', async () => {
    const root = path.join(folder, 'copy');
    mkdirSync(path.join(root, 'sdk'), { recursive: true });
    for (const file of ['pack.ts', 'bill-of-materials.ts', 'image-context.ts'])
      cpSync(path.join(projectRoot, 'release', file), path.join(root, 'release', file));
    writeFileSync(path.join(root, 'package.json'), '{"type":"module"}');
    writeFileSync(path.join(root, 'sdk/package.json'), '{"version":"9.9.9"}');
    writeFileSync(path.join(root, 'sdk/CHANGELOG.md'), '# Changelog\n\n## 9.9.90\n\nSee 9.9.9.\n');
    const refused = await run(process.execPath, [path.join(root, 'release/pack.ts')], { env }).catch(
      (err) => err,
    );
    assert.equal(refused.code, 1);
    assert.equal(refused.stderr, 'release:pack: sdk/CHANGELOG.md says nothing of 9.9.9\n');
  });

  test('changesets version the SDK and msgctl, and nothing else', () => {
    const { ignore, access } = readJson(projectRoot, '.changeset/config.json');
    const { workspaces } = readJson(projectRoot, 'package.json');
    const names = workspaces.map((folder: string) => readJson(projectRoot, folder, 'package.json').name);
    const versioned = names.filter((name: string) => !ignore.includes(name));
    assert.deepEqual(versioned.sort(), ['@posthorn/cli', '@posthorn/sdk']);
    assert.equal(access, 'public');
    for (const name of ['sdk', 'cli']) assert.ok(existsSync(path.join(projectRoot, name, 'CHANGELOG.md')));
  });
});
