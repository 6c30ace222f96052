import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { assertUnhurt, probeWhile } from '../support/probe.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { headOf, openSlowClient, type SlowClient } from '../support/slow-client.ts';

describe('slow uploads', () => {
  let messaging: TestMessaging;
  before(async () => {
    messaging = await startTestMessaging();
  });
  after(() => messaging.close());

  async function newTarget(): Promise<{ company: SeededCompany; path: string }> {
    const company = await seedCompany(messaging.parts.db);
    const instanceId = await seedInstance(messaging.parts.db, company.companyId);
    return { company, path: `/v1/instances/${instanceId}/media` };
  }

  const FORM = { 'content-type': 'multipart/form-data; boundary=b' };
  const PART = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n\r\n';
  const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0x10, 0x4a, 0x46, 0x49, 0x46, 0, 1]);

  /** Sends the beginning of an upload, and no more. */
  async function begin({ company, path }: Awaited<ReturnType<typeof newTarget>>): Promise<SlowClient> {
    const client = await openSlowClient(messaging.url);
    const headers = { ...FORM, 'x-api-key': company.apiKey, 'content-length': 1_000_000 };
    client.socket.write(headOf('POST', path, headers) + PART);
    return client;
  }

  async function upload({ company, path }: Awaited<ReturnType<typeof newTarget>>): Promise<number> {
    const form = new FormData();
    form.append('file', new Blob([JPEG], { type: 'image/jpeg' }), 'a.jpg');
    const headers = { 'x-api-key': company.apiKey };
    const answer = await fetch(messaging.url + path, { method: 'POST', headers, body: form });
    await answer.arrayBuffer();
    return answer.status;
  }

  for (const [what, companies, each] of [
    ['200 of one company', 1, 200],
    ['165 of three companies', 3, 55],
  ] as const)
    test(`${what} leave room for everybody else’s`, async () => {
      const hostile = await Promise.all(Array.from({ length: companies }, newTarget));
      const honest = await newTarget();
      const clients: SlowClient[] = [];
      const target = {
        url: messaging.url + honest.path,
        headers: { 'x-api-key': honest.company.apiKey },
      };
      const { probed } = await probeWhile(target, async () => {
        for (let i = 0; i < each; i += 1)
          clients.push(...(await Promise.all(hostile.map((company) => begin(company)))));
        await waitFor(() => messaging.media.budget.used() > 0);
        const uploads = await Promise.all(Array.from({ length: 10 }, () => upload(honest)));
        assert.deepEqual([...new Set(uploads)], [201]);
      });
      assertUnhurt(probed, what);
      const refused = clients.filter((client) => client.text().startsWith('HTTP/1.1 503')).length;
      assert.ok(refused > 0, 'what is above the share of a company is refused');
      for (const { socket } of clients) socket.destroy();
      const { budget, room } = messaging.media;
      await waitFor(() => budget.used() === 0 && room.used() === 0);
    });
});
