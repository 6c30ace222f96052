import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { errorEnvelope } from '@posthorn/contract/errors.ts';
import { FORM_FIELDS_MAX } from '@posthorn/contract/limits.ts';
import { png } from '../media/samples.ts';
import { type MediaServer, startMediaServer } from '../media/support.ts';
import { assertUnhurt, probeWhile } from '../support/probe.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';

/**
 * Requests made to cost the process more than they cost their sender. Each gets the proper answer, and while it runs,
 * another company's requests to the same process are answered as usual.
 */
let media: MediaServer;
let neighbour: SeededCompany;
let mediaId: string;

before(async () => {
  media = await startMediaServer();
  neighbour = await seedCompany(media.parts.db);
  const uploaded = await media.upload(await png(), { type: 'image/png' });
  assert.equal(uploaded.status, 201);
  mediaId = uploaded.body.media_id;
});
after(() => media.close());

interface Sent {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

interface Got {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what came, whatever it is
  body: any;
}

/** Uses node:http, which sends path and headers unchanged. */
function send({ method = 'POST', path, headers = {}, body }: Sent): Promise<Got> {
  const { promise, resolve, reject } = Promise.withResolvers<Got>();
  const url = new URL(media.url);
  const request = httpRequest(
    { host: url.hostname, port: url.port, method, path, headers: { ...common(), ...headers }, agent: false },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = response.headers['content-type']?.startsWith('application/json') && text !== '';
        resolve({ status: response.statusCode!, body: isJson ? JSON.parse(text) : text });
      });
    },
  );
  // A server that has refused may close before it has read everything.
  request.on('error', reject);
  request.end(body);
  return promise;
}

const common = () => ({ 'x-api-key': media.company.apiKey, 'idempotency-key': randomUUID() });
const json = (path: string, body: string): Sent => ({
  path: `${media.base}${path}`,
  headers: { 'content-type': 'application/json' },
  body,
});

function form(path: string, fields: readonly (readonly [name: string, value: string])[]): Sent {
  const parts = fields.map(
    ([name, value]) => `--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return {
    path: `${media.base}${path}`,
    headers: { 'content-type': 'multipart/form-data; boundary=edge' },
    body: `${parts.join('')}--edge--\r\n`,
  };
}

const to = '5511988880000';
const MEGABYTE = 1_000_000;
const SPARE = 200;
/** A JSON text of a megabyte whose list contains only `item`. */
const full = (head: string, item: string, end: string) => {
  const items = Math.floor((MEGABYTE - SPARE) / (item.length + 1));
  return `${head}[${new Array(items).fill(item).join(',')}]${end}`;
};
const commas = (bytes: number) => 'a,'.repeat(bytes / 2);

/** By the kind of request: how it is sent, and the allowed statuses. */
const HOSTILE: Record<string, [send: () => Sent, statuses: number[]]> = {
  'an upload of comments': [
    () => {
      const body = Buffer.from(
        `--edge\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n${'<!---->'.repeat(40)}x\r\n--edge--\r\n`,
      );
      const headers = { 'content-type': 'multipart/form-data; boundary=edge' };
      return { path: `${media.base}/media`, headers, body };
    },
    // Plain text, like an upload of any document.
    [201],
  ],
  'mentions of 10 MB in one field': [
    () =>
      form('/messages/image', [
        ['to', to],
        ['mentions', commas(10_000_000)],
      ]),
    [400, 413],
  ],
  'mentions of 10 MB in fields that fit by themselves': [
    () =>
      form('/messages/image', [
        ['to', to],
        ...Array.from({ length: 50 }, () => ['mentions', commas(200_000)] as const),
      ]),
    [413],
  ],
  'mentions of 900 kB, as many as a form may hold': [
    () =>
      form(
        '/messages/image',
        Array.from({ length: 4 }, () => ['mentions', commas(225_000)] as const),
      ),
    [400],
  ],
  'mentions of 250 kB as JSON in a form': [
    () => form('/messages/image', [['mentions', `[${'0,'.repeat(120_000)}0]`]]),
    [400],
  ],
  'a form of a hundred thousand fields': [
    () =>
      form(
        '/messages/image',
        Array.from({ length: 100_000 }, (_, at) => [`f${at % 7}`, 'x'] as const),
      ),
    [400],
  ],
  'a form of more fields than may be': [
    () =>
      form(
        '/messages/image',
        Array.from({ length: FORM_FIELDS_MAX + 1 }, () => ['mentions', 'x'] as const),
      ),
    [400],
  ],
  'wrong mentions of a megabyte': [
    () => json('/messages/text', full(`{"to":"${to}","text":"x","mentions":`, '0', '}')),
    [400],
  ],
  'wrong mentions of a megabyte beside media': [
    () => json('/messages/image', full(`{"to":"${to}","media_base64":"AAAA","mentions":`, '0', '}')),
    [400],
  ],
  'more than a megabyte beside media': [
    () =>
      json('/messages/image', `{"to":"${to}","caption":"${'x'.repeat(3 * MEGABYTE)}","media_base64":"AAAA"}`),
    [413],
  ],
  'wrong contacts of a megabyte': [
    () => json('/messages/contact', full(`{"to":"${to}","contacts":`, '{}', '}')),
    [400],
  ],
  'wrong options of a megabyte': [
    () => json('/messages/poll', full(`{"to":"${to}","question":"q","options":`, '0', '}')),
    [400],
  ],
  'a scheduled body of a hundred thousand fields': [
    () => {
      const fields = Array.from({ length: 90_000 }, (_, at) => `"k${at}":0`).join(',');
      return json(
        '/messages/scheduled',
        `{"type":"text","send_at":"2030-01-01T00:00:00Z","body":{${fields}}}`,
      );
    },
    [400],
  ],
  'half a million brackets': [() => json('/messages/text', '['.repeat(500_000)), [400]],
  'half a million brackets that close': [
    () =>
      json(
        '/messages/scheduled',
        `{"type":"text","send_at":"2030-01-01T00:00:00Z","body":{"x":${'['.repeat(400_000)}${']'.repeat(400_000)}}}`,
      ),
    [400],
  ],
  'a hundred thousand unknown fields': [
    () => json('/messages/text', `{${Array.from({ length: 80_000 }, (_, at) => `"k${at}":{}`).join(',')}}`),
    [400],
  ],
  'a recipient of a megabyte': [
    () => json('/messages/text', `{"to":"${'+ '.repeat(499_000)}","text":"x"}`),
    [400],
  ],
  'escapes of a megabyte': [
    () => json('/messages/text', `{"to":"${to}","text":"${'\\u005f'.repeat(160_000)}"}`),
    [400],
  ],
  'a cookie of 12 kB': [
    () => ({ method: 'GET', path: '/v1/instances', headers: { cookie: 'a=b;= ;;=;'.repeat(1_200) } }),
    [200],
  ],
  'a query of 12 kB': [() => ({ method: 'GET', path: `/v1/events?${'types=a,&'.repeat(1_300)}` }), [400]],
  'a query of commas': [() => ({ method: 'GET', path: `/v1/events?types=${','.repeat(12_000)}a` }), [400]],
  'a query of bad escapes': [
    () => ({ method: 'GET', path: `/v1/events?types=${'%'.repeat(12_000)}` }),
    [400],
  ],
  'an authorization of 12 kB of blanks': [
    () => ({
      method: 'GET',
      path: '/v1/instances',
      headers: { 'x-api-key': '', authorization: `Bearer${' '.repeat(12_000)}x` },
    }),
    [401],
  ],
  'entity tags of 12 kB': [
    () => ({
      method: 'GET',
      path: `${media.base}/media/${mediaId}`,
      headers: { 'if-none-match': `W/ ,"`.repeat(2_400) },
    }),
    [200],
  ],
  'a range of 12 kB of blanks': [
    () => ({
      method: 'GET',
      path: `${media.base}/media/${mediaId}`,
      headers: { range: `bytes=${' '.repeat(12_000)}x` },
    }),
    [200],
  ],
  'a content type of 12 kB': [
    () => ({
      ...form('/messages/image', []),
      headers: { 'content-type': `multipart/form-data${'; x='.repeat(3_000)}` },
    }),
    [400],
  ],
  'a boundary of 12 kB': [
    () => ({
      ...form('/messages/image', []),
      headers: { 'content-type': `multipart/form-data; boundary=${'a'.repeat(12_000)}` },
      body: 'a'.repeat(2 * MEGABYTE),
    }),
    [400],
  ],
};

describe('nobody else is hurt by', () => {
  for (const [what, [sent, statuses]] of Object.entries(HOSTILE)) {
    test(what, { timeout: 120_000 }, async () => {
      const target = { url: `${media.url}/v1/instances`, headers: { 'x-api-key': neighbour.apiKey } };
      const request = sent();
      const { result, probed } = await probeWhile(target, async () => {
        const got = await send(request);
        // The probe also sees the time just after it.
        await delay(100);
        return got;
      });
      assert.ok(
        statuses.includes(result.status),
        `${result.status}: ${JSON.stringify(result.body).slice(0, 200)}`,
      );
      if (result.status >= 400)
        assert.ok(errorEnvelope.safeParse(result.body).success, JSON.stringify(result.body));
      assertUnhurt(probed, what);
    });
  }
});
