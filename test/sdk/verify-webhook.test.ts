import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { verifyWebhook, WebhookVerificationError } from '@posthorn/sdk/index.ts';
import { Webhook } from 'standardwebhooks';

const newSecret = () => `whsec_${randomBytes(24).toString('base64')}`;
const SECRET = newSecret();
const EVENT = {
  event_id: 'cc8fcbb5-8d9c-4e0c-9a5a-7d5a0b4b6f0e',
  type: 'message.delivered',
  created_at: '2026-01-31T12:00:00.000Z',
  company_id: 7,
  instance_id: null,
  data: { message_ids: ['m'], note: 'äß🎺' },
};
const PAYLOAD = JSON.stringify(EVENT);

/** Signed by the reference library, not by our own code. */
function headersOf(secrets: string[] = [SECRET], at = new Date(), payload = PAYLOAD) {
  const signatures = secrets.map((secret) => new Webhook(secret).sign(EVENT.event_id, at, payload));
  return {
    'webhook-id': EVENT.event_id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signatures.join(' '),
  };
}

function refusal(code: WebhookVerificationError['code']) {
  return (error: unknown) => error instanceof WebhookVerificationError && error.code === code;
}

describe('a webhook', () => {
  test('that is genuine gives its event, from text, bytes and any kind of headers', async () => {
    const headers = headersOf();
    assert.deepEqual(await verifyWebhook(PAYLOAD, headers, SECRET), EVENT);
    assert.deepEqual(await verifyWebhook(Buffer.from(PAYLOAD), new Headers(headers), SECRET), EVENT);
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
    );
    assert.deepEqual(await verifyWebhook(new TextEncoder().encode(PAYLOAD), upper, SECRET), EVENT);
    assert.deepEqual(await verifyWebhook(PAYLOAD, headers, SECRET.replace('whsec_', '')), EVENT);
  });

  test('passes as bytes of another realm, which are no instance of the classes of this one', async () => {
    const bytes: Uint8Array = runInNewContext('(bytes) => new Uint8Array(bytes)')([...Buffer.from(PAYLOAD)]);
    assert.equal(bytes instanceof Uint8Array, false);
    for (const payload of [bytes, bytes.buffer as ArrayBuffer])
      assert.deepEqual(await verifyWebhook(payload, headersOf(), SECRET), EVENT);
  });

  test('passes while its secret is being replaced, on either side', async () => {
    const fresh = newSecret();
    assert.deepEqual(
      await verifyWebhook(PAYLOAD, headersOf([SECRET, fresh]), fresh),
      EVENT,
      'two signatures',
    );
    assert.deepEqual(
      await verifyWebhook(PAYLOAD, headersOf([SECRET]), [fresh, SECRET]),
      EVENT,
      'two secrets',
    );
  });

  test('is refused when one byte differs', async () => {
    await assert.rejects(verifyWebhook(`${PAYLOAD} `, headersOf(), SECRET), refusal('SIGNATURE_MISMATCH'));
    const other = { ...headersOf(), 'webhook-id': 'another' };
    await assert.rejects(verifyWebhook(PAYLOAD, other, SECRET), refusal('SIGNATURE_MISMATCH'));
  });

  test('is refused with another secret, another version or no signature at all', async () => {
    await assert.rejects(verifyWebhook(PAYLOAD, headersOf(), newSecret()), refusal('SIGNATURE_MISMATCH'));
    for (const signature of [
      'v1,',
      'v1',
      'v1a,AAAA',
      'v1,AAAA',
      ',',
      headersOf()['webhook-signature'].replace('v1,', 'v2,'),
    ]) {
      const headers = { ...headersOf(), 'webhook-signature': signature };
      await assert.rejects(verifyWebhook(PAYLOAD, headers, SECRET), refusal('SIGNATURE_MISMATCH'), signature);
    }
  });

  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
    test(`is refused without ${name}`, async () => {
      const { [name]: _, ...headers } = headersOf() as Record<string, string>;
      await assert.rejects(verifyWebhook(PAYLOAD, headers, SECRET), refusal('MISSING_HEADER'));
    });
  }

  test('is refused when it was signed more than five minutes ago or ahead', async () => {
    const nowMs = 1_800_000_000_000;
    for (const [offSeconds, fits] of [
      [300, true],
      [301, false],
      [-300, true],
      [-301, false],
    ] as const) {
      const verify = () =>
        verifyWebhook(PAYLOAD, headersOf([SECRET], new Date(nowMs - offSeconds * 1000)), SECRET, { nowMs });
      if (fits) assert.deepEqual(await verify(), EVENT);
      else await assert.rejects(verify, refusal('TIMESTAMP_OUT_OF_TOLERANCE'), String(offSeconds));
    }
    const junk = { ...headersOf(), 'webhook-timestamp': 'yesterday' };
    await assert.rejects(verifyWebhook(PAYLOAD, junk, SECRET), refusal('TIMESTAMP_OUT_OF_TOLERANCE'));
    await assert.rejects(
      () =>
        verifyWebhook(PAYLOAD, headersOf([SECRET], new Date(nowMs - 20_000)), SECRET, {
          nowMs,
          toleranceSeconds: 10,
        }),
      refusal('TIMESTAMP_OUT_OF_TOLERANCE'),
    );
  });

  test('that is signed but no event is refused', async () => {
    for (const payload of ['hello', '[]', '{"type":"x"}', 'null']) {
      const headers = headersOf([SECRET], new Date(), payload);
      await assert.rejects(verifyWebhook(payload, headers, SECRET), refusal('INVALID_PAYLOAD'), payload);
    }
  });

  test('given as a parsed object, or without a secret, is a mistake in the program', async () => {
    await assert.rejects(verifyWebhook(EVENT as never, headersOf(), SECRET), TypeError);
    for (const secret of ['', 'whsec_', [], undefined as never]) {
      await assert.rejects(verifyWebhook(PAYLOAD, headersOf(), secret), TypeError);
    }
  });
});
