import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configSchema, loadConfig, loadDatabaseUrl } from '@posthorn/core/platform/config.ts';
import { readSettings } from '@posthorn/standalone/src/settings.ts';
import { imageEnvironment, roleEnvironments } from './environments.ts';
import { interpolate, readCompose, readDeployed, readEnvFile, variablesOf } from './files.ts';

const known = new Set(Object.keys(configSchema.shape));
const environments = roleEnvironments();

/** Settings that only the operator of an installation may know. */
const SECRET = /SECRET|PASSWORD|TOKEN|_KEY$|^(DATABASE|AMQP|SMTP)_URL$/;

describe('the settings that deploy/ names', () => {
  it('are settings of the configuration, in every file and for every role', () => {
    assert.ok(environments.length > 15);
    for (const { where, env } of environments)
      assert.deepEqual(
        Object.keys(env).filter((name) => !known.has(name)),
        [],
        where,
      );
  });

  it('are all that a role needs to start, once the examples are filled in', () => {
    for (const { where, role, env } of environments) {
      const load = {
        migrate: () => loadDatabaseUrl(env),
        standalone: () => readSettings(env),
        sandbox: () => undefined,
      }[role];
      assert.doesNotThrow(load ?? (() => loadConfig(env)), where);
    }
  });

  it('say that it is production, and where several processes find each other', () => {
    for (const { where, role, env } of environments) {
      if (role === 'migrate' || role === 'sandbox') continue;
      const { config } = role === 'standalone' ? readSettings(env) : { config: loadConfig(env) };
      assert.equal(config.NODE_ENV, 'production', where);
      assert.ok(config.TRUSTED_PROXIES.length > 0, where);
      if (role === 'messaging') assert.ok(config.BILLING_INTERNAL_URL && config.INTERNAL_SECRET, where);
      if (role === 'worker') assert.ok(config.WORKER_PORT, where);
    }
  });

  it('open nothing of a server that npm start opens on the machine of one person', () => {
    const servers = environments.filter(({ role }) => role === 'standalone');
    assert.equal(servers.length, 2);
    for (const { where, env } of servers) {
      const { config } = readSettings(env);
      for (const name of ['ALLOW_PRIVATE_WEBHOOKS', 'ALLOW_PRIVATE_PROXIES', 'PLAYGROUND_ENABLED'] as const)
        assert.equal(config[name], false, `${where}: ${name}`);
    }
  });
});

describe('a secret', () => {
  it('has no value in any file of deploy/', () => {
    const examples = ['.env.example', 'kubernetes/secret.example.env', 'systemd/posthorn.env.example'];
    for (const file of examples)
      for (const [name, value] of Object.entries(readEnvFile(file)))
        if (SECRET.test(name)) assert.equal(value, '', `${file}: ${name}`);
    for (const file of ['compose.yaml', 'compose.small.yaml'])
      for (const { name, fallback } of variablesOf(readDeployed(file)))
        if (SECRET.test(name)) assert.equal(fallback, '', `${file}: ${name}`);
    for (const name of Object.keys(imageEnvironment())) assert.doesNotMatch(name, SECRET);
  });

  it('that everybody needs is asked for: the compose file refuses to start without it', () => {
    const given = readEnvFile('.env.example');
    for (const [name, { environment = {}, build }] of Object.entries<{
      environment?: Record<string, string>;
      build?: object;
    }>(readCompose('compose.yaml').services)) {
      if (!build || name === 'sandbox') continue;
      const all = () => Object.values(environment).map((value) => interpolate(value, given));
      assert.throws(all, /is required/, name);
    }
  });
});

describe('.env.example', () => {
  it('lists every variable of compose.yaml, and no other', () => {
    const used = new Set(variablesOf(readDeployed('compose.yaml')).map(({ name }) => name));
    // compose itself reads these.
    for (const name of ['COMPOSE_PROJECT_NAME', 'COMPOSE_PROFILES']) used.add(name);
    assert.deepEqual(Object.keys(readEnvFile('.env.example')).sort(), [...used].sort());
  });

  it('leaves required settings of compose.yaml empty', () => {
    const given = readEnvFile('.env.example');
    for (const { name, isRequired } of variablesOf(readDeployed('compose.yaml')))
      if (isRequired) assert.equal(given[name], '', name);
  });
});
