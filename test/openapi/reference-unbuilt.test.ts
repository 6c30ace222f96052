import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ApiError } from '@posthorn/contract/api-error.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { referenceHandlers } from '@posthorn/server/http/reference.ts';

const handlers = referenceHandlers({
  service: 'messaging',
  publicUrl: 'https://api.example.com',
  clock: systemClock,
  scriptFile: pathToFileURL('/nowhere/reference.js'),
});
const input = { headers: {} } as never;

test('an installation without the built reference explains how to build it', async () => {
  for (const part of ['page', 'script'] as const) {
    const error = await Promise.resolve(handlers[part](input)).then(
      () => undefined,
      (err: unknown) => err,
    );
    assert.ok(error instanceof ApiError, part);
    assert.equal(error.status, 404);
    assert.equal(error.code, 'NOT_FOUND');
    assert.match(error.publicMessage, /not built: run `npm ci && npm prune --omit=dev`/);
  }
});

test('an installation without the built reference still serves the document', async () => {
  assert.equal((await handlers.document(input))?.status, 200);
});
