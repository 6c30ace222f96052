import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { it } from 'node:test';
import { startCloudSending } from '../support/cloud/cloud-sending.ts';
import { listen } from '../support/listen.ts';

const SEVENTH = '106540352242922';

it('a number is found in its business account on whichever page Meta lists it, and not in an endless list', async (t) => {
  let pages = 7;
  const meta = createServer(({ url }, response) => {
    const { pathname, searchParams } = new URL(url!, 'http://meta');
    const page = Number(searchParams.get('after') ?? 1);
    const next = page < pages ? { next: 'https://graph.facebook.com/next' } : {};
    const body = pathname.endsWith('/phone_numbers')
      ? {
          data: [{ id: page === 7 ? SEVENTH : `${page}` }],
          paging: { cursors: { after: `${page + 1}` }, ...next },
        }
      : { display_phone_number: '+55 11 90000-0001', verified_name: 'A shop' };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  const port = await listen(meta);
  const cloud = await startCloudSending({
    graphUrl: `http://127.0.0.1:${port}`,
  });
  t.after(async () => {
    await cloud.close();
    meta.closeAllConnections();
    meta.close();
  });
  const give = async (phone_number_id: string) =>
    cloud.call(await cloud.create(), 'PUT', '/credentials', {
      ...{ phone_number_id, business_account_id: '102290129340398' },
      ...{ access_token: 'EAAtoken', app_secret: '0123456789abcdef' },
    });
  const given = await give(SEVENTH);
  assert.equal(given.status, 200, given.text);
  const missing = await give('106540352242999');
  assert.deepEqual([missing.status, missing.body.error_code], [422, 'CREDENTIALS_REFUSED']);
  pages = Number.POSITIVE_INFINITY;
  const endless = await give('106540352242999');
  assert.deepEqual([endless.status, endless.body.error_code], [422, 'CREDENTIALS_REFUSED']);
});
