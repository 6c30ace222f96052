import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findBreakingChanges } from '@posthorn/openapi/find-breaking-changes.ts';

type Json = Record<string, unknown>;

const NAME = { type: 'string', maxLength: 80 };
const KIND = { type: 'string', enum: ['a', 'b'] };

/** A document with one operation, whose body and answer refer to components, and one event. */
function documentWith(change: {
  body?: Json;
  answer?: Json;
  operation?: Json;
  paths?: Json;
  webhooks?: Json;
  parameters?: Json[];
  responses?: Json;
}): Json {
  const json = (name: string) => ({
    'application/json': { schema: { $ref: `#/components/schemas/${name}` } },
  });
  const post = {
    operationId: 'things.create',
    security: [{ bearer: [] }, { apiKey: [] }],
    parameters: change.parameters ?? [
      { name: 'page', in: 'query', schema: { type: 'integer', maximum: 100 } },
    ],
    requestBody: { required: false, content: json('Body') },
    responses: change.responses ?? { 201: { content: json('Answer') }, 404: {} },
    ...change.operation,
  };
  return {
    paths: change.paths ?? { '/things': { post } },
    webhooks: change.webhooks ?? { made: { post: { requestBody: { content: json('Answer') } } } },
    components: {
      schemas: {
        Body: change.body ?? {
          type: 'object',
          properties: { name: NAME, kind: KIND, note: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
          required: ['name'],
        },
        Answer: change.answer ?? {
          type: 'object',
          properties: {
            id: { type: 'integer' },
            kind: KIND,
            parent: { $ref: '#/components/schemas/Answer' },
          },
          required: ['id', 'kind'],
        },
      },
    },
  };
}

const body = (properties: Json, required: string[] = ['name']) => ({
  body: { type: 'object', properties, required },
});
const answer = (properties: Json, required: string[] = ['id', 'kind']) => ({
  answer: { type: 'object', properties, required },
});
const NOTE = { anyOf: [{ type: 'string' }, { type: 'null' }] };
const ID = { type: 'integer' };
const PARENT = { $ref: '#/components/schemas/Answer' };
const ANSWER = 'POST /things 201';
const BODY = 'POST /things body';
const EVENT = 'the event POST made';

/** A change by its name, the changed document, and the lines that report it. */
const BREAKING: [string, Parameters<typeof documentWith>[0], string[]][] = [
  ['a removed path', { paths: {} }, ['POST /things was removed']],
  [
    'another name',
    { operation: { operationId: 'x' } },
    ['POST /things is called x now, no longer things.create'],
  ],
  ['a credential', { operation: { security: [{ bearer: [] }] } }, ['POST /things no longer takes apiKey']],
  ['a removed status', { responses: { 404: {} } }, ['POST /things no longer answers 201']],
  [
    'another type of content',
    { responses: { 201: { content: { 'text/plain': {} } } } },
    [`${ANSWER} is no longer application/json`],
  ],
  ['a removed parameter', { parameters: [] }, ['POST /things query page is no longer taken']],
  [
    'a new required parameter',
    {
      parameters: [
        { name: 'page', in: 'query', schema: { type: 'integer', maximum: 100 } },
        { name: 'to', in: 'query', required: true, schema: {} },
      ],
    },
    ['POST /things query to became required'],
  ],
  [
    'a tighter bound',
    { parameters: [{ name: 'page', in: 'query', schema: { type: 'integer', maximum: 50 } }] },
    ['POST /things query page has a tighter maximum: 50'],
  ],
  [
    'a body that is needed',
    { operation: { requestBody: { required: true, content: {} } } },
    ['POST /things needs a body now', `${BODY} is no longer application/json`],
  ],
  [
    'a new required field',
    body({ name: NAME, kind: KIND, note: NOTE, to: NAME }, ['name', 'to']),
    [`${BODY}.to became required`],
  ],
  [
    'a field that became required',
    body({ name: NAME, kind: KIND, note: NOTE }, ['name', 'kind']),
    [`${BODY}.kind became required`],
  ],
  ['a field that is dropped', body({ name: NAME, note: NOTE }), [`${BODY}.kind is no longer taken`]],
  [
    'a word that is refused',
    body({ name: NAME, kind: { ...KIND, enum: ['a'] }, note: NOTE }),
    [`${BODY}.kind no longer takes "b"`],
  ],
  [
    'words in place of any text',
    body({ name: { ...NAME, enum: ['x'] }, kind: KIND, note: NOTE }),
    [`${BODY}.name no longer takes any other`],
  ],
  [
    'null that is refused',
    body({ name: NAME, kind: KIND, note: { type: 'string' } }),
    [`${BODY}.note no longer takes null`],
  ],
  [
    'a new pattern',
    body({ name: { ...NAME, pattern: '^x' }, kind: KIND, note: NOTE }),
    [`${BODY}.name has a tighter pattern: ^x`],
  ],
  [
    'a removed field of an answer',
    answer({ id: ID, parent: PARENT }, ['id']),
    [`${ANSWER}.kind was removed`, `${EVENT}.kind was removed`],
  ],
  [
    'a field that may be absent',
    answer({ id: ID, kind: KIND, parent: PARENT }, ['id']),
    [`${ANSWER}.kind may be absent now`, `${EVENT}.kind may be absent now`],
  ],
  [
    'an answer that may be null',
    answer({ id: { type: ['integer', 'null'] }, kind: KIND, parent: PARENT }),
    [`${ANSWER}.id may be null now`, `${EVENT}.id may be null now`],
  ],
  ['a removed event', { webhooks: {} }, [`${EVENT} was removed`]],
];

const HARMLESS: [string, Parameters<typeof documentWith>[0]][] = [
  ['nothing', {}],
  ['a new optional field', body({ name: NAME, kind: KIND, note: NOTE, to: NAME })],
  ['a wider bound', body({ name: { type: 'string', maxLength: 90 }, kind: KIND, note: NOTE })],
  ['a new word', body({ name: NAME, kind: { ...KIND, enum: ['a', 'b', 'c'] }, note: NOTE })],
  [
    'a new field of an answer',
    answer({ id: ID, kind: KIND, parent: PARENT, more: NAME }, ['id', 'kind', 'more']),
  ],
  ['a new word of an answer', answer({ id: ID, kind: { ...KIND, enum: ['a', 'b', 'c'] }, parent: PARENT })],
  [
    'another way to authenticate',
    { operation: { security: [{ apiKey: [] }, { bearer: [] }, { ticket: [] }] } },
  ],
  ['an error that went', { responses: { 201: { content: { 'application/json': { schema: PARENT } } } } }],
];

describe('a change of a published document', () => {
  for (const [what, change, said] of BREAKING)
    it(`breaks callers: ${what}`, () => {
      assert.deepEqual(findBreakingChanges(documentWith({}), documentWith(change)), said);
    });

  for (const [what, change] of HARMLESS)
    it(`breaks nobody: ${what}`, () => {
      assert.deepEqual(findBreakingChanges(documentWith({}), documentWith(change)), []);
    });
});
