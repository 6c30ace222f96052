import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EVENT_TYPES } from '@posthorn/contract/events.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { errorsOf, metaOf } from '@posthorn/contract/route-meta.ts';

interface Operation {
  security: object[];
  parameters: { $ref?: string; name?: string }[];
  responses: Record<string, object>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  webhooks: object;
  components: { responses: Record<string, object> };
}

const openapi = new URL('../../openapi/', import.meta.url);
const document = JSON.parse(readFileSync(new URL('messaging.json', openapi), 'utf8')) as Document;
const routes = listRoutes(messagingContract);

describe('the committed OpenAPI document', () => {
  it('matches the contract', () => {
    const run = spawnSync(process.execPath, [fileURLToPath(new URL('generate.ts', openapi)), '--check'], {
      encoding: 'utf8',
    });
    assert.equal(run.status, 0, run.stderr);
  });

  for (const { name, route } of routes) {
    it(`documents the statuses, codes and credentials of ${name}`, () => {
      const operation = document.paths[route.path.replace(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()];
      assert.ok(operation);
      // A range beyond the end is no error of the catalogue: its answer has no body.
      const statuses = { ...route.responses, ...(metaOf(route).ranges ? { 416: null } : {}) };
      assert.deepEqual(Object.keys(operation.responses), Object.keys(statuses));
      assert.equal(operation.security.length > 0, metaOf(route).auth !== 'none');
      const text = JSON.stringify(Object.values(operation.responses).map(resolve));
      // The 503 of /ready has a body of its own.
      const codes = errorsOf(route).filter(
        (code) => name !== 'health.ready' || code !== 'SERVICE_UNAVAILABLE',
      );
      for (const code of codes) assert.ok(text.includes(`"${code}"`), code);
      const wantsKey = operation.parameters.some((parameter) => parameter.name === 'Idempotency-Key');
      assert.equal(wantsKey, metaOf(route).operation !== undefined);
    });
  }

  it('describes the delivery of every event', () => {
    const text = JSON.stringify(document.webhooks);
    for (const type of EVENT_TYPES) assert.ok(text.includes(`"${type}"`), type);
  });

  it('has no reference that leads nowhere', () => {
    for (const [, path] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const target = (path as string)
        .split('/')
        .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document);
      assert.ok(target, path);
    }
  });
});

function resolve(response: { $ref?: string }): object {
  const name = response.$ref?.split('/').at(-1);
  return name ? (document.components.responses[name] ?? {}) : response;
}
