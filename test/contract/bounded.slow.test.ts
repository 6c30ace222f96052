import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { boundOf } from '@posthorn/contract/bounded.ts';
import { codeOfIssues } from '@posthorn/contract/validation-error.ts';
import { jsonSchemaOf } from '@posthorn/openapi/json-schema.ts';
import { parseJson } from '@posthorn/server/http/parse-json.ts';
import type { z } from 'zod/v4';
import { inputSchemas, type Step, walkSchema } from '../support/walk-schema.ts';

/** As many items as a body of a megabyte can hold: `0,` half a million times, doubled for safety. */
const MANY = 1_000_000;
/** More faults than this prove that items were judged before they were counted. */
const FAULTS_MAX = 100;
/** CPU time of this thread, which does not depend on the load of the machine. Judging the items took seconds. */
const LIMIT_MS = 250;

const lists = inputSchemas().flatMap(({ name, schema, part }) => {
  const found: {
    what: string;
    root: z.ZodType;
    list: z.ZodType;
    path: readonly Step[];
    part: typeof part;
  }[] = [];
  walkSchema(schema, (list, path) => {
    if (list.def.type === 'array' || list.def.type === 'record')
      found.push({ what: `${name} ${path.join('.')} (${list.def.type})`, root: schema, list, path, part });
  });
  return found;
});

const WRONG: Record<string, unknown> = { number: 0, null: null, text: '', object: {}, list: [] };
const arrays = Object.entries(WRONG).map(([what, item]) => [what, new Array(MANY).fill(item)] as const);
const records = [
  ['bad names', Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`bad name ${at}`, at]))],
  ['good names', Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`x-${at}`, 'v']))],
] as const;

/** The value, wrapped so that it is at this path. */
function placed(path: readonly Step[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, step) => {
    if (step === '[]') return [inner];
    return { [step === '{}' ? 'key' : step]: inner };
  }, value);
}

function cpuMs<T>(run: () => T): { ms: number; result: T } {
  const before = process.threadCpuUsage();
  const result = run();
  const { user, system } = process.threadCpuUsage(before);
  return { ms: (user + system) / 1_000, result };
}

function assertRefusedAtOnce(
  root: z.ZodType,
  input: unknown,
  part: 'body' | 'query' | 'headers' | 'path',
  what: string,
) {
  const judge = () => {
    const { error } = root.safeParse(input);
    return { faults: error?.issues.length ?? 0, said: error && codeOfIssues(error.issues, part, input) };
  };
  const first = cpuMs(judge);
  assert.ok(first.result.said, `${what} is refused`);
  assert.ok(first.result.faults < FAULTS_MAX, `${what}: ${first.result.faults} faults were written down`);
  // Measured twice before it counts: the first time may include other work.
  const ms = first.ms < LIMIT_MS ? first.ms : cpuMs(judge).ms;
  assert.ok(ms < LIMIT_MS, `${what} takes ${Math.round(ms)} ms`);
}

describe('every list and record of a request', () => {
  test('is there to be looked at', () => assert.ok(lists.length > 25, String(lists.length)));

  for (const { what, root, list, path, part } of lists) {
    test(`${what} is counted before its items are judged`, () => {
      const max = boundOf(list);
      assert.ok(max !== null, `${what} is made by boundedArray or boundedRecord (contract/bounded.ts)`);
      assert.ok(max <= 1024, `${what} takes ${max} items`);
      for (const [kind, value] of list.def.type === 'array' ? arrays : records)
        assertRefusedAtOnce(root, placed(path, value), part, `${what} of ${kind}`);
    });

    test(`${what} shows its bound in the OpenAPI document`, () => {
      const shown = jsonSchemaOf(list, 'input')!;
      assert.equal(list.def.type === 'array' ? shown.maxItems : shown.maxProperties, boundOf(list));
    });
  }
});

describe('every body and query', () => {
  const strange: Record<string, unknown> = {
    'a hundred thousand unknown fields': records[1][1],
    'a list in place of an object': arrays[0]![1],
    'a million characters': 'x'.repeat(MANY),
    'fields named __proto__ and constructor': parseJson(
      '{"__proto__": {"admin": true, "to": "x"}, "constructor": {"prototype": {"admin": true}}}',
    ),
    'the same, written with escapes': parseJson('{"\\u005f_proto__": {"admin": true}}'),
  };
  for (const { name, schema, part } of inputSchemas()) {
    test(`${name} withstands values of other types`, () => {
      for (const [what, input] of Object.entries(strange)) {
        const judge = () => schema.safeParse(input);
        const { ms, result } = cpuMs(judge);
        const issues = result.error?.issues ?? [];
        assert.ok(issues.length < FAULTS_MAX, `${what}: ${issues.length} faults`);
        if (result.error) codeOfIssues(issues, part, input);
        assert.ok(ms < LIMIT_MS || cpuMs(judge).ms < LIMIT_MS, `${what} takes ${Math.round(ms)} ms`);
        assert.equal((result.data as { admin?: unknown } | undefined)?.admin, undefined, what);
      }
      assert.equal(({} as { admin?: unknown }).admin, undefined);
    });
  }

  for (const { name, schema, part } of inputSchemas()) {
    test(`${name} withstands a megabyte in any of its fields`, () => {
      const seen = new Set<string>();
      walkSchema(schema, (field, path) => {
        // An optional schema and the schema that it wraps have the same path.
        if (
          seen.has(path.join()) ||
          path.length === 0 ||
          path.some((step) => step === '{key}' || /^\d+$/.test(step))
        )
          return;
        seen.add(path.join());
        for (const char of ['a', ' ', '0', '-', '\u0301']) {
          const input = placed(path, char.repeat(1_000_000));
          const judge = () => schema.safeParse(input);
          const { ms, result } = cpuMs(judge);
          if (result.error) codeOfIssues(result.error.issues, part, input);
          assert.ok(
            ms < LIMIT_MS || cpuMs(judge).ms < LIMIT_MS,
            `${path.join('.')} (${field.def.type}) full of ${JSON.stringify(char)} takes ${Math.round(ms)} ms`,
          );
        }
      });
    });
  }
});
