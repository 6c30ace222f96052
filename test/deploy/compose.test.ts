import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { type RoleEnvironment, roleEnvironments } from './environments.ts';
import { type Document, deployDir, readCompose, readDeployed } from './files.ts';

const compose = readCompose('compose.yaml');
const services = Object.entries<Document>(compose.services);
const ours = services.filter(([, { build }]) => build);
const small = readCompose('compose.small.yaml');

const networksOf = (name: string): string[] => compose.services[name].networks;
const environments = new Map<string, RoleEnvironment>(
  roleEnvironments().map((environment) => [environment.where, environment]),
);

describe('compose.yaml', () => {
  it('runs every role, and two of each role that must survive the stop of one', () => {
    const roles = ours.map(([, { command }]) => command.join(' ')).sort();
    assert.deepEqual(roles, ['billing', 'messaging', 'messaging', 'migrate', 'sandbox', 'worker', 'worker']);
    assert.deepEqual(
      services.filter(([, { profiles }]) => profiles).map(([name]) => name),
      ['sandbox'],
    );
  });

  it('declares the networks and volumes that its services use, and mounts files that are there', () => {
    for (const [name, { networks, volumes = [] }] of services) {
      for (const network of networks) assert.ok(network in compose.networks, `${name}: ${network}`);
      for (const volume of volumes) {
        const [source] = volume.split(':');
        const isThere = source.startsWith('./')
          ? existsSync(path.join(deployDir, source))
          : source in compose.volumes;
        assert.ok(isThere, `${name}: ${source}`);
      }
    }
  });

  it('waits for the needs of each service: healthy dependencies, and the end of the migration', () => {
    for (const [name, { depends_on = {} }] of services)
      for (const [other, { condition }] of Object.entries<Document>(depends_on)) {
        const needed = compose.services[other];
        assert.ok(needed, `${name} waits for ${other}`);
        if (condition === 'service_healthy') assert.ok(needed.healthcheck.test, other);
        else assert.equal(needed.restart, 'no', `${other} ends`);
      }
    for (const [name, { command, depends_on }] of ours)
      if (['messaging', 'billing', 'worker'].includes(command[0]))
        assert.deepEqual(Object.keys(depends_on), ['migrate', 'postgres', 'rabbitmq'], name);
  });

  it('lets each role reach the hosts that its settings name, on the ports on which those listen', () => {
    const ports: Record<string, string> = {
      postgres: '5432',
      rabbitmq: '5672',
      billing: '8081',
      sandbox: '8090',
    };
    for (const [name] of ours) {
      const { env } = environments.get(`compose.yaml: ${name}`)!;
      for (const setting of ['DATABASE_URL', 'AMQP_URL', 'BILLING_INTERNAL_URL', 'SANDBOX_URL']) {
        if (!env[setting]) continue;
        const { hostname, port } = new URL(env[setting]);
        if (name.startsWith('worker') && hostname === 'billing') continue;
        const shared = networksOf(name).filter((network) => networksOf(hostname).includes(network));
        assert.ok(shared.length > 0, `${name} does not reach ${hostname}`);
        assert.equal(port, ports[hostname], `${name}: ${setting}`);
      }
    }
  });

  it('publishes the ports of the proxy alone, which leads to the servers', () => {
    const published = services.filter(([, { ports }]) => ports).map(([name]) => name);
    assert.deepEqual(published, ['proxy']);
    const upstreams = [...readDeployed('Caddyfile').matchAll(/\b([a-z]+(?:-\d)?):(\d{4})\b/g)];
    assert.deepEqual(upstreams.map(([upstream]) => upstream).sort(), [
      'billing:8081',
      'messaging-1:8080',
      'messaging-2:8080',
    ]);
    for (const [, host = ''] of upstreams) assert.ok(networksOf(host).includes('front'), host);
    const { subnet } = compose.networks.front.ipam.config[0];
    assert.equal(compose.services['messaging-1'].environment.TRUSTED_PROXIES, subnet);
  });

  it('keeps database, broker and the simulated network apart from the outside', () => {
    assert.equal(compose.networks.back.internal, true);
    for (const name of ['postgres', 'rabbitmq', 'sandbox', 'migrate'])
      assert.deepEqual(networksOf(name), ['back'], name);
  });
});

for (const [file, roles] of [
  ['compose.yaml', ours],
  ['compose.small.yaml', Object.entries<Document>(small.services)],
] as const)
  describe(`each role in ${file}`, () => {
    it('writes to its volume and /tmp alone, and has no rights', () => {
      for (const [name, service] of roles) {
        assert.equal(service.read_only, true, name);
        assert.deepEqual(service.tmpfs, ['/tmp'], name);
        assert.deepEqual(service.cap_drop, ['ALL'], name);
        assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
      }
    });

    it('has the time that a shutdown takes', () => {
      for (const [name, { stop_grace_period }] of roles)
        assert.ok(Number.parseInt(stop_grace_period, 10) > 5 + 10, name);
    });

    it('is built by arguments that the Dockerfile has', () => {
      const known = [...readDeployed('Dockerfile').matchAll(/^ARG (\w+)/gm)].map(([, name]) => name);
      for (const [, { build }] of roles)
        for (const name of Object.keys(build.args)) assert.ok(known.includes(name), name);
    });
  });

it('the log of each container has a bound: otherwise it fills the disk of the machine in time', () => {
  for (const [name, { logging }] of [...services, ...Object.entries<Document>(small.services)]) {
    assert.match(logging?.options['max-size'] ?? '', /^\d+m$/, name);
    assert.match(logging.options['max-file'], /^\d+$/, name);
  }
});

describe('compose.small.yaml', () => {
  it('is one container on one volume, which this machine alone reaches', () => {
    assert.equal(Object.keys(small.services).length, 1);
    const { ports, volumes } = small.services.posthorn;
    assert.deepEqual(volumes, ['data:/data']);
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:/);
  });

  it('passes on each setting of deploy/.env that the manual names', () => {
    const manual = readDeployed('../docs/deploying.md');
    const section = manual.split(/^## /m).find((part) => part.startsWith('One container'))!;
    const named = [...section.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, name]) => name!);
    assert.ok(named.includes('ASAAS_API_KEY') && named.includes('SMTP_URL'));
    for (const name of named)
      assert.match(small.services.posthorn.environment[name] ?? '', new RegExp(`^\\$\\{${name}\\b`), name);
  });
});
