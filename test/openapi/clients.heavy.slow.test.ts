import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';
import { build } from 'esbuild';
import openapiTypes, { astToString } from 'openapi-typescript';
import { readDocument, SERVICES } from '../support/openapi-documents.ts';
import { projectRoot } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

/** The exports of a program that uses a generated client. */
interface Program {
  send(options: { baseUrl: string; apiKey: string; instanceId: string; to: string; key: string }): Promise<{
    status: number;
    messageId: string | undefined;
    key: string | undefined;
    wrongStatus: number;
    code: string | undefined;
  }>;
}

/** The same small program with each client: sends a text, and asks for an unknown object. */
const PROGRAMS: Record<string, string> = {
  'openapi-fetch': `
import createClient from 'openapi-fetch';
import type { paths as BillingPaths } from './billing/types';
import type { paths } from './messaging/types';

interface Options { baseUrl: string; apiKey: string; instanceId: string; to: string; key: string }

export async function send({ baseUrl, apiKey, instanceId, to, key }: Options) {
  const client = createClient<paths>({ baseUrl, headers: { 'X-API-Key': apiKey } });
  const sent = await client.POST('/v1/instances/{instanceId}/messages/text', {
    params: { path: { instanceId }, header: { 'Idempotency-Key': key } },
    body: { to, text: 'by a generated client' },
  });
  const missing = await client.GET('/v1/instances/{instanceId}', { params: { path: { instanceId: 'nobody' } } });
  return {
    status: sent.response.status,
    messageId: sent.data?.message_id,
    key: sent.data?.idempotency_key,
    wrongStatus: missing.response.status,
    code: missing.error?.error_code,
  };
}

export const plans = (baseUrl: string) => createClient<BillingPaths>({ baseUrl }).GET('/v1/billing/plans');

// @ts-expect-error a send without a key does not compile
export const keyless = (baseUrl: string) => createClient<paths>({ baseUrl }).POST('/v1/instances/{instanceId}/messages/text', { params: { path: { instanceId: '' } }, body: { to: '', text: '' } });
`,
  'hey-api': `
import { catalogListPlans } from './billing';
import { instancesGet, messagesSendText } from './messaging';
import { createClient } from './messaging/client';

interface Options { baseUrl: string; apiKey: string; instanceId: string; to: string; key: string }

export async function send({ baseUrl, apiKey, instanceId, to, key }: Options) {
  const client = createClient({ baseUrl, auth: ({ type }) => (type === 'apiKey' ? apiKey : undefined) });
  const sent = await messagesSendText({
    client,
    path: { instanceId },
    headers: { 'Idempotency-Key': key },
    body: { to, text: 'by a generated client' },
  });
  const missing = await instancesGet({ client, path: { instanceId: 'nobody' } });
  return {
    status: sent.response?.status ?? 0,
    messageId: sent.data?.message_id,
    key: sent.data?.idempotency_key,
    wrongStatus: missing.response?.status ?? 0,
    code: missing.error?.error_code,
  };
}

export const plans = () => catalogListPlans();

// @ts-expect-error a text is a text
export const wrong = () => messagesSendText({ path: { instanceId: '' }, headers: { 'Idempotency-Key': '' }, body: { to: '', text: 1 } });
`,
};

const GENERATORS: Record<string, (document: object, folder: string) => Promise<void>> = {
  'openapi-fetch': async (document, folder) => {
    const types = await openapiTypes(document as Parameters<typeof openapiTypes>[0]);
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'types.ts'), astToString(types));
  },
  'hey-api': async (document, folder) => {
    await createClient({
      input: document as Record<string, unknown>,
      output: folder,
      plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
      logs: { level: 'silent', file: false },
    });
  },
};

describe('a client that is generated from the documents', () => {
  let folder: string;
  let sending: Sending;
  let instance: TestInstance;
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'posthorn-clients-'));
    symlinkSync(path.join(projectRoot, 'node_modules'), path.join(folder, 'node_modules'));
    sending = await startSending();
    instance = await sending.connect();
  });
  after(async () => {
    await sending?.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  for (const [name, generate] of Object.entries(GENERATORS)) {
    const own = () => path.join(folder, name);

    test(`compiles under strict types: ${name}`, async () => {
      for (const service of SERVICES) await generate(readDocument(service), path.join(own(), service));
      writeFileSync(path.join(own(), 'program.ts'), PROGRAMS[name]!);
      const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], target: 'es2022' };
      const modules = {
        module: 'esnext',
        moduleResolution: 'bundler',
        lib: ['es2023', 'dom', 'dom.iterable'],
      };
      const config = { compilerOptions: { ...options, ...modules }, files: ['program.ts'] };
      writeFileSync(path.join(own(), 'tsconfig.json'), JSON.stringify(config));
      const tsc = path.join(projectRoot, 'node_modules/typescript/bin/tsc');
      const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', own()], { encoding: 'utf8' });
      assert.equal(status, 0, stdout);
    });

    test(`sends a text, once, and reads an error: ${name}`, async () => {
      const outfile = path.join(own(), 'program.mjs');
      await build({
        entryPoints: [path.join(own(), 'program.ts')],
        bundle: true,
        format: 'esm',
        platform: 'node',
        outfile,
        logLevel: 'silent',
      });
      const program = (await import(pathToFileURL(outfile).href)) as Program;
      const to = sending.newPhone();
      const options = {
        baseUrl: sending.api.url,
        apiKey: sending.company.apiKey,
        instanceId: instance.id,
        to: `+${to}`,
        key: randomUUID(),
      };
      const first = await program.send(options);
      assert.equal(first.status, 202);
      assert.equal(first.key, options.key);
      assert.deepEqual([first.wrongStatus, first.code], [404, 'INSTANCE_NOT_FOUND']);
      assert.equal((await program.send(options)).messageId, first.messageId, 'a repeat is the same send');
      await sending.event(instance, 'message.sent', (data) => data.message_ids[0] === first.messageId);
      const texts = (await sending.shown(to)).map(({ content }) => content.text);
      assert.deepEqual(texts, ['by a generated client']);
    });
  }
});
