import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { eventPayloads, isEventType } from '@posthorn/contract/events.ts';
import { animatedWebp, gif, jpeg, mp3, mp4, pdf } from '../media/samples.ts';
import { listen } from '../support/listen.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

interface Case {
  path: string;
  bytes: () => Promise<Buffer> | Buffer;
  mime: string;
  body?: Record<string, unknown>;
  type: string;
  ends: 'message.read' | 'message.played' | 'message.delivered';
  /** Fields of the content on the phone. */
  content?: Record<string, unknown>;
  /** The type of the file on the phone, when the file is converted before it is sent. */
  converted?: string;
}

const CASES: Record<string, Case> = {
  image: {
    path: '/messages/image',
    bytes: () => jpeg(),
    mime: 'image/jpeg',
    body: { caption: 'a picture' },
    type: 'image',
    ends: 'message.read',
    content: { caption: 'a picture' },
  },
  'view-once image': {
    path: '/messages/image',
    bytes: () => jpeg({ width: 32 }),
    mime: 'image/jpeg',
    body: { view_once: true },
    type: 'image',
    ends: 'message.played',
    content: { view_once: true },
  },
  video: {
    path: '/messages/video',
    bytes: () => mp4(1),
    mime: 'video/mp4',
    body: { caption: 'moving' },
    type: 'video',
    ends: 'message.played',
    content: { caption: 'moving' },
  },
  'voice note': {
    path: '/messages/audio',
    bytes: () => mp3(1),
    mime: 'audio/mpeg',
    type: 'audio',
    ends: 'message.played',
    content: { ptt: true },
    converted: 'audio/ogg',
  },
  'plain audio': {
    path: '/messages/audio',
    bytes: () => mp3(1),
    mime: 'audio/mpeg',
    body: { ptt: false },
    type: 'audio',
    ends: 'message.played',
    content: { ptt: false },
  },
  document: {
    path: '/messages/document',
    bytes: () => pdf(),
    mime: 'application/pdf',
    body: { file_name: 'contract.pdf' },
    type: 'document',
    ends: 'message.read',
    content: { file_name: 'contract.pdf' },
  },
  sticker: {
    path: '/messages/sticker',
    bytes: () => animatedWebp(),
    mime: 'image/webp',
    type: 'sticker',
    ends: 'message.read',
  },
  ptv: { path: '/messages/ptv', bytes: () => mp4(1), mime: 'video/mp4', type: 'ptv', ends: 'message.played' },
  gif: {
    path: '/messages/gif',
    bytes: () => gif(),
    mime: 'image/gif',
    type: 'gif',
    ends: 'message.read',
    converted: 'video/mp4',
  },
};

let pipeline: Sending;
let instance: TestInstance;

/** The media of the URL form, and how often it was fetched. */
let picture: Buffer;
let asked = 0;
const files = createServer((_request, response) => {
  asked += 1;
  response.writeHead(200, { 'content-type': 'image/jpeg' }).end(picture);
});

before(async () => {
  picture = await jpeg({ width: 44 });
  await listen(files);
  pipeline = await startSending({ env: { MEDIA_PRIVATE_HOSTS: hostOfFiles() } });
  instance = await pipeline.connect();
});
after(async () => {
  await pipeline.close();
  files.close();
});

const hostOfFiles = () => `127.0.0.1:${(files.address() as AddressInfo).port}`;

const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function upload(bytes: Buffer, mime: string): Promise<string> {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(bytes)], { type: mime }), 'sample');
  const answer = await fetch(`${pipeline.api.url}/v1/instances/${instance.id}/media`, {
    method: 'POST',
    body: form,
    headers: { 'x-api-key': pipeline.company.apiKey },
  });
  assert.equal(answer.status, 201);
  return ((await answer.json()) as { media_id: string }).media_id;
}

async function postForm(
  path: string,
  fields: Record<string, string>,
  file: Buffer,
  mime: string,
  key: string,
) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob([new Uint8Array(file)], { type: mime }), 'sample');
  const answer = await fetch(`${pipeline.api.url}/v1/instances/${instance.id}${path}`, {
    method: 'POST',
    body: form,
    headers: { 'x-api-key': pipeline.company.apiKey, 'idempotency-key': key },
  });
  // biome-ignore lint/suspicious/noExplicitAny: looked at field by field
  return { status: answer.status, body: (await answer.json()) as any };
}

async function told(messageId: string, last: string) {
  return waitFor(
    async () => {
      const events = await pipeline.eventsOf(messageId);
      return events.at(-1)?.type === last && events;
    },
    60_000,
    { what: last },
  );
}

describe('sends with media', () => {
  for (const [name, { path, bytes, mime, body = {}, type, ends, content = {}, converted }] of Object.entries(
    CASES,
  )) {
    test(`${name}: reaches the phone with its bytes, and causes its events in order`, async () => {
      const file = await bytes();
      const phone = pipeline.newPhone();
      // Media that was stored for one kind must be found for this send, by the id of the first one.
      const media_base64 = `data:${mime};base64,${file.toString('base64')}`;
      const accepted = await pipeline.send(instance, path, { to: phone, ...body, media_base64 });
      const events = await told(accepted.message_id, ends);
      assert.deepEqual(
        events.map((event) => event.type),
        ['message.sent', 'message.delivered', ends],
      );
      for (const event of events) {
        assert.ok(isEventType(event.type));
        assert.deepEqual(eventPayloads[event.type].parse(event.data), event.data);
        assert.equal(event.data.message_type, type);
      }
      assert.equal(events[0]!.data.idempotency_key, accepted.idempotency_key);
      const mediaId = events[0]!.data.media_id;
      const [shown] = await pipeline.shown(phone);
      assert.equal(shown.type, type);
      for (const [field, value] of Object.entries(content))
        assert.deepEqual(shown.content[field], value, field);
      const got = Buffer.from(await (await fetch(pipeline.sandboxUrl + shown.media.url)).arrayBuffer());
      if (converted) assert.ok(shown.media.mime_type.startsWith(converted), shown.media.mime_type);
      else assert.deepEqual([sha(got), shown.media.mime_type], [sha(file), mime]);
      if (converted === 'audio/ogg') assert.equal(Buffer.from(shown.media.waveform, 'base64').length, 64);
      if (type === 'sticker') assert.equal(shown.media.animated, true);
      const again = await pipeline.send(instance, path, {
        to: pipeline.newPhone(),
        ...body,
        media_id: mediaId,
      });
      assert.equal((await told(again.message_id, ends))[0]!.data.media_id, mediaId);
    });
  }

  for (const [route, bytes, type] of [
    ['image', () => jpeg(), 'status_image'],
    ['video', () => mp4(1), 'status_video'],
    ['audio', () => mp3(1), 'status_audio'],
  ] as const) {
    test(`status ${route}: reaches the audience and causes events of ${type}`, async () => {
      const friend = pipeline.newPhone();
      await pipeline.sandbox.post(`/phones/${instance.phone}/contacts`, { add: [friend], mutual: true });
      const media_base64 = (await bytes()).toString('base64');
      const accepted = await pipeline.send(instance, `/messages/status/${route}`, { media_base64 });
      const sent = await pipeline.event(
        instance,
        'message.sent',
        (data) => data.message_ids[0] === accepted.message_id,
      );
      assert.equal(sent.data.message_type, type);
      await waitFor(async () => (await pipeline.shown(friend, 'status@broadcast')).length === 1);
      await pipeline.sandbox.post(`/phones/${friend}/view-status`, {});
      const viewed = await pipeline.event(
        instance,
        'status.viewed',
        (data) => data.status_message_id === accepted.message_id,
      );
      assert.deepEqual(
        [viewed.data.status_type, viewed.data.receipt_type],
        [route, route === 'image' ? 'read' : 'played'],
      );
      const item = await pipeline.call(instance, 'GET', `/status/${accepted.message_id}`);
      assert.deepEqual([item.body.type, item.body.media_id], [route, sent.data.media_id]);
    });
  }
});

describe('a media source', () => {
  const changes = {
    base64: { caption: 'changed' },
    multipart: { caption: 'changed' },
    id: { caption: 'changed' },
  };

  for (const form of Object.keys(changes) as (keyof typeof changes)[]) {
    test(`${form}: 50 concurrent repeats of one key make one message, a changed body is 422`, async () => {
      const file = await jpeg({ width: 40 + form.length });
      const phone = pipeline.newPhone();
      const key = randomUUID();
      const mediaId = form === 'id' ? await upload(file, 'image/jpeg') : '';
      const send = async (fields: Record<string, string>, bytes = file) => {
        const body = { to: phone, ...fields };
        if (form === 'multipart') return postForm('/messages/image', body, bytes, 'image/jpeg', key);
        const source = form === 'id' ? { media_id: mediaId } : { media_base64: bytes.toString('base64') };
        return pipeline.call(
          instance,
          'POST',
          '/messages/image',
          { ...body, ...source },
          { 'idempotency-key': key },
        );
      };
      const answers = await Promise.all(Array.from({ length: 50 }, () => send({ caption: 'one' })));
      assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([202]));
      assert.equal(new Set(answers.map((answer) => answer.body.message_id)).size, 1);
      assert.equal((await send(changes[form])).body.error_code, 'IDEMPOTENCY_KEY_REUSED');
      if (form !== 'id') {
        const other = await send({ caption: 'one' }, await jpeg({ width: 99 }));
        assert.deepEqual([other.status, other.body.error_code], [422, 'IDEMPOTENCY_KEY_REUSED']);
      }
      await waitFor(async () => (await pipeline.shown(phone)).length === 1);
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.equal((await pipeline.shown(phone)).length, 1);
    });
  }

  test('url: 50 concurrent repeats of one key make one message; a repeat fetches nothing', async () => {
    const phone = pipeline.newPhone();
    const key = randomUUID();
    const media_url = `http://${hostOfFiles()}/picture.jpg`;
    const send = (url: string) =>
      pipeline.call(
        instance,
        'POST',
        '/messages/image',
        { to: phone, media_url: url },
        { 'idempotency-key': key },
      );
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(media_url)));
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([202]));
    assert.equal(new Set(answers.map((answer) => answer.body.message_id)).size, 1);
    const before = asked;
    assert.equal((await send(media_url)).headers.get('idempotent-replayed'), 'true');
    assert.equal((await send(`${media_url}?other`)).body.error_code, 'IDEMPOTENCY_KEY_REUSED');
    assert.equal(asked, before);
    await told(answers[0]!.body.message_id, 'message.read');
    assert.equal((await pipeline.shown(phone)).length, 1);
  });

  test('a caption is edited and the picture stays; the same picture twice is a duplicate', async () => {
    const guarded = await pipeline.connect({ anti_spam_guard_enabled: true });
    const phone = pipeline.newPhone();
    const media_base64 = (await jpeg({ width: 50 })).toString('base64');
    const body = { to: phone, caption: 'befor', media_base64 };
    const first = await pipeline.send(guarded, '/messages/image', body);
    await told(first.message_id, 'message.read');
    const twice = await pipeline.call(guarded, 'POST', '/messages/image', body);
    assert.deepEqual([twice.status, twice.body.error_code], [409, 'BLOCKED_DUPLICATE_CONTENT']);
    await pipeline.call(guarded, 'PUT', `/messages/${first.message_id}/edit`, { content: 'before' });
    await pipeline.event(guarded, 'message.edited');
    const [shown] = await pipeline.shown(phone);
    assert.deepEqual([shown.text, shown.edited], ['before', true]);
    assert.ok(shown.media.url);
  });
});

describe('received media', () => {
  test('is stored by itself: the events carry its media_id, and it can be sent on', async () => {
    const phone = pipeline.newPhone();
    const file = await jpeg({ width: 70 });
    await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      type: 'image',
      caption: 'theirs',
      media_base64: file.toString('base64'),
      mime_type: 'image/jpeg',
    });
    const event = await pipeline.event(instance, 'image.received', (data) => data.phone === phone);
    assert.deepEqual(eventPayloads['image.received'].parse(event.data), event.data);
    assert.deepEqual([event.data.content, event.data.mime_type], [{ caption: 'theirs' }, 'image/jpeg']);
    const media = await fetch(
      `${pipeline.api.url}/v1/instances/${instance.id}/media/${event.data.media_id}`,
      {
        headers: { 'x-api-key': pipeline.company.apiKey },
      },
    );
    assert.equal(sha(new Uint8Array(await media.arrayBuffer())), sha(file));
    const forwarded = await pipeline.send(instance, '/messages/forward', {
      to: pipeline.newPhone(),
      forward_chat_id: phone,
      message_id: event.data.message_ids[0],
    });
    const sent = (await told(forwarded.message_id, 'message.read'))[0]!;
    assert.deepEqual([sent.data.message_type, sent.data.is_forwarded], ['image', true]);
    await pipeline.sandbox.post('/faults', { kind: 'expire_media', instance: instance.id });
    const gone = await pipeline.send(instance, '/messages/forward', {
      to: pipeline.newPhone(),
      forward_chat_id: phone,
      message_id: event.data.message_ids[0],
    });
    await pipeline.event(
      instance,
      'image.delivery_failed',
      (data) => data.message_ids[0] === gone.message_id && data.reason === 'forward_source_media_unavailable',
    );
    await pipeline.sandbox.call('DELETE', '/faults');
  });

  test('that can never be stored delays nothing: its event has no id', async () => {
    const phone = pipeline.newPhone();
    const empty = { to: instance.phone, type: 'document', media_base64: '', mime_type: 'application/pdf' };
    await pipeline.sandbox.post(`/phones/${phone}/messages`, empty);
    await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text: 'after' });
    const document = await pipeline.event(instance, 'document.received', (data) => data.phone === phone);
    assert.ok(!('media_id' in document.data));
    const text = await pipeline.event(instance, 'text.received', (data) => data.phone === phone);
    assert.equal(text.data.content.text, 'after');
  });

  test('that is an animated sticker is marked as such; lost media has no id in its event', async () => {
    const phone = pipeline.newPhone();
    const sticker = {
      to: instance.phone,
      type: 'sticker',
      media_base64: (await animatedWebp()).toString('base64'),
      mime_type: 'image/webp',
    };
    await pipeline.sandbox.post(`/phones/${phone}/messages`, sticker);
    const event = await pipeline.event(instance, 'sticker.received', (data) => data.phone === phone);
    assert.equal(event.data.is_animated, true);
    await pipeline.sandbox.post('/faults', { kind: 'expire_media', instance: instance.id });
    const other = pipeline.newPhone();
    await pipeline.sandbox.post(`/phones/${other}/messages`, sticker);
    const gone = await pipeline.event(instance, 'sticker.received', (data) => data.phone === other);
    assert.ok(!('media_id' in gone.data));
    await pipeline.sandbox.call('DELETE', '/faults');
  });
});
