import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RAW_BODY_MAX_BYTES } from '@posthorn/contract/limits.ts';
import { bodyOf, signatureOf } from '@posthorn/network/sandbox/graph/post.ts';
import { startCloudSending } from '../support/cloud/cloud-sending.ts';
import { assertUnhurt, probeWhile } from '../support/probe.ts';

const EACH = 40;
const AT_ONCE = 8;

test('webhooks that are forged, re-serialised or too large are refused without harm to others', async (t) => {
  const cloud = await startCloudSending();
  t.after(() => cloud.close());
  const instance = await cloud.connect();
  const url = `${cloud.api.url}/v1/webhooks/whatsapp-cloud/${instance.id}`;
  const signed = bodyOf(instance.number, [{ field: 'messages', value: { text: 'é@/' } }]);
  const signature = signatureOf(instance.number.appSecret, signed);
  const largest = Buffer.alloc(RAW_BODY_MAX_BYTES, 0x5b);
  const ones = Array(1_400_000).fill('1').join(',');
  const entries = Buffer.from(`{"entry":[${ones}]}`);
  const status = `{"id":"a","status":"failed","errors":[${ones}]}`;
  const value = `{"metadata":{"phone_number_id":"${instance.number.id}"},"statuses":[${status}]}`;
  const errors = Buffer.from(`{"entry":[{"id":"1","changes":[{"field":"messages","value":${value}}]}]}`);
  const kinds: [string, Buffer, string, number][] = [
    ['forged', largest, signatureOf('a guess', largest), 401],
    ['re-serialised', Buffer.from(JSON.stringify(JSON.parse(signed.toString()))), signature, 401],
    ['too large', Buffer.alloc(RAW_BODY_MAX_BYTES + 1), signature, 413],
    ['signed, and a nest of brackets', largest, signatureOf(instance.number.appSecret, largest), 200],
    ['signed, and a million entries', entries, signatureOf(instance.number.appSecret, entries), 200],
    ['signed, and a million errors', errors, signatureOf(instance.number.appSecret, errors), 200],
  ];
  const target = { url: `${cloud.api.url}/v1/instances`, headers: { 'x-api-key': cloud.company.apiKey } };
  for (const [what, body, sign, expected] of kinds) {
    const { probed } = await probeWhile(target, async () => {
      let left = EACH;
      const post = async () => {
        while (left-- > 0) {
          const headers = { 'x-hub-signature-256': sign, 'content-type': 'application/json' };
          const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });
          await response.arrayBuffer();
          assert.equal(response.status, expected, what);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, post));
      await cloud.drained();
    });
    assertUnhurt(probed, `${EACH} webhooks that are ${what}`);
  }
});
