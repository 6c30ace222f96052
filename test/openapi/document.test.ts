import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { billingBodies } from '@posthorn/contract/examples/billing.ts';
import { messagingBodies } from '@posthorn/contract/examples/messaging.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf, takesBody } from '@posthorn/contract/route-meta.ts';
import type { z } from 'zod/v4';
import {
  type Content,
  DocumentChecker,
  operationsOf,
  type Schema,
  SERVICES,
} from '../support/openapi-documents.ts';

const contracts = { messaging: messagingContract, billing: billingContract };
const bodies = { messaging: messagingBodies, billing: billingBodies };

for (const service of SERVICES) {
  const checker = new DocumentChecker(service);
  const { document } = checker;
  const operations = operationsOf(document);
  const routes = new Map(listRoutes(contracts[service]).map(({ name, route }) => [name, route]));

  describe(`the OpenAPI document of ${service}`, () => {
    it('names each operation once, as the contract does', () => {
      assert.deepEqual(
        operations.map(({ operation }) => operation.operationId).sort(),
        [...routes.keys()].sort(),
      );
    });

    it('lists no value of an enum twice', () => {
      JSON.stringify(document, (_key, value) => {
        if (Array.isArray(value?.enum)) assert.equal(new Set(value.enum).size, value.enum.length, value.enum);
        return value;
      });
    });

    it('declares the tags that its operations use, and no other', () => {
      const used = new Set(operations.flatMap(({ operation }) => operation.tags));
      assert.deepEqual(document.tags.map(({ name }) => name).sort(), [...used].sort());
      for (const { name, description } of document.tags) assert.ok(description, name);
    });

    it('defines the security schemes that its operations use, and no other', () => {
      const used = operations.flatMap(({ operation }) => operation.security.flatMap(Object.keys));
      assert.deepEqual(
        Object.keys(document.components.securitySchemes ?? {}).sort(),
        [...new Set(used)].sort(),
      );
    });

    it('describes every parameter and every field', () => {
      const silent = operations.flatMap(({ operation }) => [
        ...operation.parameters
          .filter(({ $ref, description }) => !$ref && !description)
          .map(({ name }) => `${operation.operationId} ?${name}`),
        ...silentFields(operation, operation.operationId),
      ]);
      for (const [name, schema] of Object.entries(document.components.schemas ?? {}))
        silent.push(...silentFields(schema, name));
      assert.deepEqual(silent, [], 'add them to contract/field-docs/ or to their schemas');
    });

    it('describes a query parameter by its own text, not by that of a field with its name', () => {
      const texts = operations
        .flatMap(({ operation }) => operation.parameters)
        .filter(({ in: where, name }) => where === 'query' && name === 'status')
        .map(({ description }) => description ?? '');
      assert.ok(texts.length > 1);
      for (const text of texts) assert.match(text, /^Only /);
    });

    for (const { path, method, operation } of operations) {
      const place = ['paths', path, method];
      it(`shows ${operation.operationId} by examples that its schemas take`, () => {
        const shown: [string[], Content][] = [];
        if (operation.requestBody) shown.push([[...place, 'requestBody'], operation.requestBody.content]);
        for (const [status, { content }] of Object.entries(operation.responses))
          if (status.startsWith('2') && content) shown.push([[...place, 'responses', status], content]);
        for (const [where, content] of shown)
          for (const [type, { schema, example }] of Object.entries(content)) {
            if (schema?.format === 'binary') continue;
            assert.notEqual(example, undefined, `${where.at(-1)} ${type} has no example`);
            assert.equal(checker.faultsOf([...where, 'content', type, 'schema'], example), '', type);
          }
      });
    }
  });

  describe(`the examples of the contract of ${service}`, () => {
    it('are there for every route with a body, and for no other', () => {
      const taking = [...routes].filter(([, route]) => takesBody(route)).map(([name]) => name);
      assert.deepEqual(Object.keys(bodies[service]).sort(), taking.sort());
    });

    for (const [name, body] of Object.entries(bodies[service]))
      it(`pass the contract's own schema: ${name}`, () => {
        const { error } = (routes.get(name) as unknown as { body: z.ZodType }).body.safeParse(body);
        assert.equal(error, undefined);
      });

    for (const { operation } of operations)
      it(`pass the contract's own schema: the answers of ${operation.operationId}`, () => {
        const route = routes.get(operation.operationId)!;
        if (metaOf(route).raw && metaOf(route).raw !== 'multipart') return;
        for (const [status, { content }] of Object.entries(operation.responses)) {
          const example = content?.['application/json']?.example;
          if (example === undefined || !status.startsWith('2')) continue;
          const parsed = (route.responses[Number(status)] as z.ZodType).safeParse(example);
          assert.deepEqual(parsed.data, example, parsed.error?.message);
        }
      });
  });
}

/** The fields without a description in a part of the document, by their paths. */
function silentFields(part: unknown, way: string): string[] {
  if (typeof part !== 'object' || part === null) return [];
  if (Array.isArray(part)) return part.flatMap((each) => silentFields(each, way));
  const schema = part as Schema;
  const fields = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  return [
    ...fields
      .filter(([, field]) => typeof field === 'object' && !field.description && !field.$ref)
      .map(([name]) => `${way}.${name}`),
    ...fields.flatMap(([name, field]) => silentFields(field, `${way}.${name}`)),
    ...Object.entries(schema)
      .filter(([key]) => key !== 'properties' && key !== 'example' && key !== 'examples')
      .flatMap(([, each]) => silentFields(each, way)),
  ];
}
