import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ensureProgram } from '@posthorn/test/support/debian-package.ts';
import { projectRoot } from '@posthorn/test/support/process.ts';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { fillIn } from './environments.ts';
import { type Document, deployDir, readDeployed, readEnvFile, readKubernetes } from './files.ts';

/** Checks the deployment files with the operators' own tools. */

/** systemd rates exposure from 0, the least, to 10. */
const EXPOSURE_MAX = 2;

const work = mkdtempSync(path.join(tmpdir(), 'posthorn-deploy-'));
after(() => rmSync(work, { recursive: true, force: true }));

describe('docker compose', () => {
  const dir = path.join(work, 'compose', 'deploy');
  before(async () => {
    await ensureProgram('docker-compose');
    cpSync(deployDir, dir, { recursive: true });
  });

  const config = (file: string, env: Record<string, string>) =>
    spawnSync('docker-compose', ['--file', file, 'config'], {
      cwd: dir,
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
    });

  it('understands compose.yaml with the variables of .env.example', () => {
    const filled = Object.entries(fillIn(readEnvFile('.env.example')));
    writeFileSync(path.join(dir, '.env'), filled.map(([name, value]) => `${name}=${value}\n`).join(''));
    const { status, stdout, stderr } = config('compose.yaml', {});
    assert.equal(status, 0, stderr);
    const { services } = parse(stdout);
    assert.equal(services['worker-2'].environment.DATABASE_URL.split('@')[1], 'postgres:5432/posthorn');
    assert.deepEqual(services.migrate.networks, { back: null });
  });

  it('starts nothing with an unchanged .env.example', () => {
    cpSync(path.join(deployDir, '.env.example'), path.join(dir, '.env'));
    const { status, stderr } = config('compose.yaml', {});
    assert.notEqual(status, 0);
    assert.match(stderr, /API_HOST/);
  });

  it('understands compose.small.yaml', () => {
    const { status, stderr } = config('compose.small.yaml', {
      PUBLIC_URL: 'https://api.example.com',
    });
    assert.equal(status, 0, stderr);
  });

  it('takes the settings of one container from where the manual puts them, in a later shell too', () => {
    const manual = readFileSync(path.join(projectRoot, 'docs/deploying.md'), 'utf8');
    const section = manual.split(/^## /m).find((part) => part.startsWith('One container'))!;
    const first = section.split('```sh\n')[1]!.split('\n')[0]!;
    const options = { cwd: path.dirname(dir), env: { PATH: process.env.PATH }, encoding: 'utf8' } as const;
    execFileSync('sh', ['-ec', first], options);
    const args = ['--project-name', 'posthorn', '--file', 'deploy/compose.small.yaml', 'config'];
    const { status, stdout, stderr } = spawnSync('docker-compose', args, options);
    assert.equal(status, 0, stderr);
    assert.equal(parse(stdout).services.posthorn.environment.PUBLIC_URL, 'https://api.example.com');
  });
});

describe('caddy', () => {
  before(() => ensureProgram('caddy'));

  it('understands the Caddyfile, and leads each host name to its servers, without internal routes', () => {
    const file = path.join(deployDir, 'Caddyfile');
    const env = { PATH: process.env.PATH, HOME: work, API_HOST: 'api.test', BILLING_HOST: 'billing.test' };
    const adapted = execFileSync(
      'caddy',
      ['adapt', '--config', file, '--adapter', 'caddyfile', '--validate'],
      {
        env,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    const { routes } = JSON.parse(adapted).apps.http.servers.srv0;
    const dials = (host: string) => {
      const route = routes.find((one: Document) => one.match[0].host.includes(host));
      const [proxy] = JSON.stringify(route)
        .match(/"upstreams":(\[[^\]]*\])/)!
        .slice(1);
      return JSON.parse(proxy!).map(({ dial }: { dial: string }) => dial);
    };
    assert.deepEqual(dials('api.test'), ['messaging-1:8080', 'messaging-2:8080']);
    assert.deepEqual(dials('billing.test'), ['billing:8081']);
    assert.equal(adapted.match(/"\/metrics","\/internal\/\*"/g)?.length, 2);
  });
});

describe('kubectl', () => {
  before(() => ensureProgram('kubectl', 'kubernetes-client'));

  it('makes of deploy/kubernetes every resource of its files, with the image of the kustomization', () => {
    const made = execFileSync('kubectl', ['kustomize', path.join(deployDir, 'kubernetes')], {
      encoding: 'utf8',
    });
    const resources: Document[] = parseAllDocuments(made).map((document) => document.toJS());
    const names = (list: Document[]) => list.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
    assert.deepEqual(names(resources), names(readKubernetes()));
    const { images } = parse(readFileSync(path.join(deployDir, 'kubernetes/kustomization.yaml'), 'utf8'));
    const [{ newName, newTag }] = images;
    for (const { spec } of resources.filter(({ kind }) => kind === 'Deployment' || kind === 'Job'))
      assert.equal(spec.template.spec.containers[0].image, `${newName}:${newTag}`);
  });

  it('takes it as a base of the kustomization that the manual shows, under host names of its own', () => {
    const own = path.join(work, 'own');
    const base = path.join(work, 'kubernetes');
    mkdirSync(own);
    cpSync(path.join(deployDir, 'kubernetes'), base, { recursive: true });
    const [, shown = ''] = /```yaml\n([\s\S]*?)```/.exec(readDeployed('../docs/deploying.md')) ?? [];
    const { namespace, resources, images, patches } = parse(
      shown.replace('<checkout>/deploy', '..').replace('<your registry>', 'registry.shop.test'),
    );
    const files: string[] = patches.map((patch: Document) => patch.path);
    for (const file of files) {
      const text = readFileSync(path.join(base, file), 'utf8');
      writeFileSync(path.join(own, file), text.replaceAll('example.com', 'shop.test'));
    }
    // Every version of kustomize knows these names of the fields.
    const asKnown = { namespace, bases: resources, images, patchesStrategicMerge: files };
    writeFileSync(path.join(own, 'kustomization.yaml'), stringify(asKnown));
    const made = execFileSync('kubectl', ['kustomize', own], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    for (const document of parseAllDocuments(made))
      assert.equal(document.toJS().metadata.namespace, namespace);
    assert.match(made, /image: registry\.shop\.test\/posthorn:<version>/);
    assert.doesNotMatch(made, /example\.com/);
  });
});

describe('systemd', () => {
  const dir = path.join(work, 'systemd');
  const files = () => globSync('*.{service,target}', { cwd: dir }).map((file) => path.join(dir, file));
  before(async () => {
    await ensureProgram('systemd-analyze', 'systemd');
    mkdirSync(dir);
    // It checks that the programs exist: in this checkout they are where an installation has them in /opt/posthorn.
    for (const file of globSync('*.{service,target}', { cwd: path.join(deployDir, 'systemd') })) {
      const text = readFileSync(path.join(deployDir, 'systemd', file), 'utf8');
      writeFileSync(path.join(dir, file), text.replaceAll('/opt/posthorn', projectRoot));
    }
  });

  it('finds nothing wrong with the units', () => {
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files()], {
      encoding: 'utf8',
    });
    const about = stderr.split('\n').filter((line) => line.includes('posthorn'));
    assert.deepEqual(about, []);
    assert.equal(status, 0, stderr);
  });

  it(`finds that each service is exposed to at most ${EXPOSURE_MAX} of 10`, () => {
    for (const file of files().filter((name) => name.endsWith('.service'))) {
      const args = ['security', '--offline=yes', `--threshold=${EXPOSURE_MAX * 10}`, '--no-pager', file];
      const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
      const [line = ''] = /Overall exposure.*$/m.exec(stdout) ?? [];
      console.log(`${path.basename(file)}: ${line.replace(/^.*: /, '')}`);
      assert.equal(status, 0, `${path.basename(file)}: ${stdout}${stderr}`);
    }
  });
});
