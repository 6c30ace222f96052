import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { errorEnvelope } from '@posthorn/contract/errors.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { templateName } from '@posthorn/contract/messaging/official-bodies.ts';
import { metaOf, takesBody } from '@posthorn/contract/route-meta.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { validBodies } from './fixtures.ts';

/** With any of these in the place of an id in a path, the answer is a refusal in the envelope, never a 500. */
const SEGMENTS: Record<string, string> = {
  'one of 257 characters': 'a'.repeat(257),
  'one of 513 characters': 'a'.repeat(513),
  'one of 10,000 characters': 'a'.repeat(10_000),
  '10,000 digits': '9'.repeat(10_000),
  'ten thousand escaped characters': '%61'.repeat(3_300),
  'long after its escapes are undone': '%F0%9F%98%80'.repeat(200),
  'a bad escape': '%zz',
  'half an escape': '%',
  'many bad escapes': '%'.repeat(10_000),
  'an escape of a byte that is no UTF-8': '%c0%af',
  'half of a surrogate pair': '%ed%a0%80',
  'a NUL': '%00',
  'a line feed': '%0a',
  'an escaped slash': '..%2f..%2fetc',
  'an escaped percent sign': '%2525',
  'an escaped question mark': '%3fa=b',
  blanks: '%20%20',
  quotes: `%27%22`,
  'the name of a prototype': '__proto__',
  'a method of a prototype': 'constructor',
  wildcards: '%25_%25',
};

let api: TestMessaging;
let company: SeededCompany;
let instanceId: string;
before(async () => {
  api = await startTestMessaging();
  company = await seedCompany(api.parts.db);
  instanceId = await seedInstance(api.parts.db, company.companyId);
});
after(() => api.close());

/** Uses node:http, because fetch would correct the path. */
function send(
  method: string,
  path: string,
  headers: Record<string, string>,
  body: unknown,
): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const { hostname, port } = new URL(api.url);
  const text = body === undefined ? '' : JSON.stringify(body);
  // Without this the client sends the body of a DELETE without its length.
  const all = { ...headers, 'content-length': String(Buffer.byteLength(text)) };
  const request = httpRequest(
    { host: hostname, port, method, path, headers: all, agent: false },
    (response) => {
      let answer = '';
      response.on('data', (chunk: Buffer) => {
        answer += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode!, text: answer }));
    },
  );
  request.on('error', reject);
  request.end(text);
  return promise;
}

for (const { name, route } of listRoutes(messagingContract)) {
  const params = [...route.path.matchAll(/:(\w+)/g)].map(([, param]) => param!);
  if (params.length === 0) continue;
  describe(`${name} (${route.method} ${route.path})`, () => {
    for (const param of params) {
      test(`refuses an invalid ${param}`, async () => {
        const body = takesBody(route) ? validBodies[name] : undefined;
        const isJwt = metaOf(route).auth === 'jwt';
        const headers = {
          ...(isJwt
            ? { authorization: `Bearer ${await api.jwtOf(company, { isSuperadmin: true })}` }
            : { 'x-api-key': company.apiKey }),
          'idempotency-key': randomUUID(),
          ...(body ? { 'content-type': 'application/json' } : {}),
        };
        for (const [what, segment] of Object.entries(SEGMENTS)) {
          // A valid name, which only the network knows to be unknown.
          if (param === 'templateName' && templateName.safeParse(segment).success) continue;
          const path = route.path.replace(/:(\w+)/g, (_, each: string) =>
            each === param ? segment : each === 'instanceId' ? instanceId : randomUUID(),
          );
          const { status, text } = await send(route.method, path, headers, body);
          const said = `${what}: ${status} ${text.slice(0, 200)}`;
          // Some routes answer 200 for an unknown id (the views of a status), and some faults of a login at a provider
          // are redirects.
          if (status >= 200 && status < 400) continue;
          assert.ok(status >= 400 && status < 500, said);
          assert.ok(errorEnvelope.safeParse(JSON.parse(text)).success, said);
        }
      });
    }
  });
}

describe('a query', () => {
  for (const [what, query] of Object.entries({
    'of bad escapes': `instance_id=${'%'.repeat(1_000)}`,
    'of bytes that are no UTF-8': 'instance_id=%c0%af',
    'of half a surrogate pair': 'instance_id=%ed%a0%80',
    'of ten thousand characters': `instance_id=${'a'.repeat(10_000)}`,
    'of one parameter a thousand times': 'limit=1&'.repeat(1_000),
    'of a thousand parameters': Array.from({ length: 1_000 }, (_, at) => `p${at}=1`).join('&'),
    'of ampersands': '&'.repeat(10_000),
    'of brackets': `${'a[b]'.repeat(500)}=1&limit[]=1&limit[__proto__]=1`,
    'of the name of a prototype': '__proto__=1&constructor=1&__proto__[limit]=1',
    'of a number without end': `limit=${'9'.repeat(5_000)}&page=1e999`,
  })) {
    test(`${what} is answered`, async () => {
      for (const path of ['/v1/events', '/v1/instances', `/v1/instances/${instanceId}/messages`]) {
        const { status, text } = await send(
          'GET',
          `${path}?${query}`,
          { 'x-api-key': company.apiKey },
          undefined,
        );
        assert.ok(
          status === 200 || (status >= 400 && status < 500),
          `${path}: ${status} ${text.slice(0, 200)}`,
        );
        if (status !== 200) assert.ok(errorEnvelope.safeParse(JSON.parse(text)).success, text);
      }
    });
  }
});
