import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { mp3, mp4, webp } from '../media/samples.ts';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

const TO = '5531900000001';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
).toString('base64');

describe('sends over the Cloud API', () => {
  let cloud: CloudSending;
  let instance: CloudInstance;
  let received: string;
  before(async () => {
    cloud = await startCloudSending({
      worker: { deferral: { expiresMs: 600_000, retryMs: 100, unansweredMs: 5_000 } },
    });
    instance = await cloud.connect();
    received = await cloud.greet(instance, TO);
  });
  after(() => cloud?.close());

  const bodyOf = async (messageId: string) => {
    const id = messageId.replaceAll('-', '').toUpperCase();
    const sent = await waitFor(async () =>
      cloud.graph.world.ledger.find(({ callbackData }) => callbackData === id),
    );
    return sent.body as Record<string, unknown>;
  };

  it('are bodies as Meta describes them, with our id as their callback data', async () => {
    const quoting = { quoted_id: received };
    const cases: [string, Record<string, unknown>, string, unknown][] = [
      ['text', { text: 'Olá' }, 'text', { body: 'Olá', preview_url: false }],
      [
        'link-preview',
        { text: 'See https://x.test', url: 'https://x.test' },
        'text',
        { body: 'See https://x.test', preview_url: true },
      ],
      [
        'location',
        { latitude: -19.9, longitude: -43.9, name: 'Here', address: 'A street' },
        'location',
        { latitude: '-19.9', longitude: '-43.9', name: 'Here', address: 'A street' },
      ],
      [
        'contact',
        { contact_name: 'Ana', contact_phone: '+5511988887777' },
        'contacts',
        [
          {
            name: { formatted_name: 'Ana', first_name: 'Ana' },
            phones: [{ phone: '+5511988887777', wa_id: '5511988887777' }],
          },
        ],
      ],
      ['reaction', { message_id: received, emoji: '👍' }, 'reaction', { message_id: received, emoji: '👍' }],
      [
        'template',
        { body_text: 'Well?', footer_text: 'Choose', buttons: [{ id: 'yes', text: 'Yes' }] },
        'interactive',
        {
          type: 'button',
          body: { text: 'Well?' },
          footer: { text: 'Choose' },
          action: { buttons: [{ type: 'reply', reply: { id: 'yes', title: 'Yes' } }] },
        },
      ],
      [
        'list',
        {
          ...{ header_text: 'Delivery', body_text: 'When may we come?', footer_text: 'Free' },
          button_text: 'Choose a day',
          sections: [
            { title: 'This week', rows: [{ id: 'fri', title: 'Friday', description: 'From 8 to 12' }] },
            { title: 'Next week', rows: [{ id: 'mon', title: 'Monday' }] },
          ],
        },
        'interactive',
        {
          type: 'list',
          header: { type: 'text', text: 'Delivery' },
          body: { text: 'When may we come?' },
          footer: { text: 'Free' },
          action: {
            button: 'Choose a day',
            sections: [
              { title: 'This week', rows: [{ id: 'fri', title: 'Friday', description: 'From 8 to 12' }] },
              { title: 'Next week', rows: [{ id: 'mon', title: 'Monday' }] },
            ],
          },
        },
      ],
      [
        'list',
        { body_text: 'Well?', button_text: 'Choose', sections: [{ rows: [{ id: 'a', title: 'A' }] }] },
        'interactive',
        {
          type: 'list',
          body: { text: 'Well?' },
          action: { button: 'Choose', sections: [{ rows: [{ id: 'a', title: 'A' }] }] },
        },
      ],
      [
        'link-button',
        { body_text: 'On its way', button_text: 'Follow it', url: 'https://x.test/1?a=b' },
        'interactive',
        {
          type: 'cta_url',
          body: { text: 'On its way' },
          action: {
            name: 'cta_url',
            parameters: { display_text: 'Follow it', url: 'https://x.test/1?a=b' },
          },
        },
      ],
    ];
    for (const [path, fields, type, part] of cases) {
      const quotes = path === 'text';
      const id = await cloud.send(instance, `/messages/${path}`, {
        to: TO,
        ...fields,
        ...(quotes ? quoting : {}),
      });
      assert.deepEqual(await bodyOf(id), {
        messaging_product: 'whatsapp',
        recipient_type: 'individual',
        to: TO,
        type,
        [type]: part,
        ...(quotes ? { context: { message_id: received } } : {}),
        biz_opaque_callback_data: id.replaceAll('-', '').toUpperCase(),
      });
      await cloud.reaches(instance, id, 'delivered');
    }
  });

  it('refuse lists and buttons with a link that Meta would refuse later', async () => {
    const row = (id: string) => ({ id, title: 'Monday' });
    const list = { to: TO, body_text: 'When?', button_text: 'Choose', sections: [{ rows: [row('a')] }] };
    const link = { to: TO, body_text: 'On its way', button_text: 'Follow', url: 'https://x.test' };
    const rows = (count: number, from = 0) => Array.from({ length: count }, (_, at) => row(`${from + at}`));
    const wrong: [string, Record<string, unknown>][] = [
      ['list', { ...list, button_text: 'x'.repeat(21) }],
      ['list', { ...list, body_text: 'x'.repeat(1025) }],
      ['list', { ...list, header_text: 'x'.repeat(61) }],
      ['list', { ...list, sections: [] }],
      ['list', { ...list, sections: [{ rows: [] }] }],
      ['list', { ...list, sections: [{ rows: rows(11) }] }],
      [
        'list',
        {
          ...list,
          sections: [
            { title: 'One', rows: rows(6) },
            { title: 'Two', rows: rows(5, 6) },
          ],
        },
      ],
      ['list', { ...list, sections: [{ rows: [row('a'), row('a')] }] }],
      ['list', { ...list, sections: [{ title: 'One', rows: [row('a')] }, { rows: [row('b')] }] }],
      ['list', { ...list, sections: [{ rows: [{ ...row('a'), title: 'x'.repeat(25) }] }] }],
      ['list', { ...list, sections: [{ rows: [{ ...row('a'), description: 'x'.repeat(73) }] }] }],
      ['link-button', { ...link, url: 'javascript:alert(1)' }],
      ['link-button', { ...link, button_text: '' }],
      ['link-button', { ...link, body_text: undefined }],
    ];
    for (const [path, body] of wrong) {
      const refused = await cloud.call(instance.id, 'POST', `/messages/${path}`, body);
      assert.equal(refused.status, 400, `${path} ${JSON.stringify(body).slice(0, 150)}: ${refused.text}`);
    }
    const tenRows = { ...list, sections: [{ rows: rows(10) }] };
    await cloud.reaches(instance, await cloud.send(instance, '/messages/list', tenRows), 'delivered');
  });

  it('with media are bodies as Meta describes them', async () => {
    const inline = (mime: string, bytes: Buffer) => `data:${mime};base64,${bytes.toString('base64')}`;
    const video = inline('video/mp4', await mp4());
    const sound = inline('audio/mpeg', await mp3());
    const sticker = inline('image/webp', await webp());
    const cases: [string, Record<string, unknown>, string, Record<string, unknown>][] = [
      ['video', { media_base64: video, caption: 'Look' }, 'video', { caption: 'Look' }],
      ['video', { media_base64: video }, 'video', {}],
      ['audio', { media_base64: sound, ptt: false }, 'audio', {}],
      ['audio', { media_base64: sound, ptt: true }, 'audio', { voice: true }],
      ['sticker', { media_base64: sticker }, 'sticker', {}],
      [
        'document',
        { media_base64: sound, caption: 'Hear', file_name: 'a.mp3' },
        'document',
        {
          caption: 'Hear',
          filename: 'a.mp3',
        },
      ],
    ];
    const mimeTypes: Record<string, string> = {};
    for (const [path, fields, type, more] of cases) {
      const id = await cloud.send(instance, `/messages/${path}`, { to: TO, ...fields });
      const body = await bodyOf(id);
      const part = body[type] as { id: string };
      assert.deepEqual(
        body,
        {
          messaging_product: 'whatsapp',
          recipient_type: 'individual',
          to: TO,
          type,
          [type]: { id: part.id, ...more },
          biz_opaque_callback_data: id.replaceAll('-', '').toUpperCase(),
        },
        path,
      );
      const key = 'voice' in more ? 'voice' : type;
      mimeTypes[key] = cloud.graph.world.media.get(part.id)!.mimeType;
      await cloud.reaches(instance, id, 'delivered');
    }
    assert.match(mimeTypes.voice!, /^audio\/ogg/);
    assert.deepEqual([mimeTypes.video, mimeTypes.sticker], ['video/mp4', 'image/webp']);
  });

  it('upload media once, and use it again', async () => {
    const uploads = () => cloud.graph.world.media.size;
    const before = uploads();
    const first = await cloud.send(instance, '/messages/image', {
      to: TO,
      media_base64: PNG,
      caption: 'One',
    });
    const body = await bodyOf(first);
    const { media_id } = (await cloud.call(instance.id, 'GET', `/message/${first}`)).body;
    const again = await cloud.send(instance, '/messages/image', { to: TO, media_id, caption: 'Two' });
    assert.deepEqual(
      [(body.image as { id: string }).id, uploads() - before],
      [((await bodyOf(again)).image as { id: string }).id, 1],
    );
    assert.equal((body.image as { caption: string }).caption, 'One');
    const document = await cloud.send(instance, '/messages/document', {
      to: TO,
      media_id,
      file_name: 'a.png',
    });
    assert.equal(((await bodyOf(document)).document as { filename: string }).filename, 'a.png');
  });

  it('upload a file once that goes to many chats at the same moment', async () => {
    const people = Array.from({ length: 6 }, (_, nth) => `553190000008${nth}`);
    for (const person of people) await cloud.greet(instance, person);
    const form = new FormData();
    form.set('file', new Blob([Buffer.from(PNG, 'base64')], { type: 'image/png' }), 'to-many.png');
    const stored = await fetch(`${cloud.api.url}/v1/instances/${instance.id}/media`, {
      ...{ method: 'POST', body: form },
      headers: { 'x-api-key': cloud.company.apiKey },
    });
    assert.equal(stored.status, 201);
    const { media_id } = (await stored.json()) as { media_id: string };
    const before = cloud.graph.world.media.size;
    cloud.graph.world.answerDelayMs = 500;
    const ids = await Promise.all(
      people.map((to) => cloud.send(instance, '/messages/document', { to, media_id })),
    );
    for (const id of ids) await cloud.reaches(instance, id, 'delivered');
    cloud.graph.world.answerDelayMs = 0;
    assert.equal(cloud.graph.world.media.size - before, 1);
  });

  it('cause message.sent with the status, not with the answer', async () => {
    cloud.graph.poster(instance.number).hold(true);
    const id = await cloud.send(instance, '/messages/text', { to: TO, text: 'Accepted' });
    await bodyOf(id);
    await waitFor(async () => {
      const { rows } = await cloud.api.parts.db.query<{ known: boolean }>(
        'SELECT network_id IS NOT NULL AS known FROM messages WHERE id = $1',
        [id],
      );
      return rows[0]!.known;
    });
    assert.deepEqual([(await cloud.status(instance, id)).status, await cloud.eventsOf(id)], ['queued', []]);
    assert.equal((await cloud.call(instance.id, 'GET', '/queue/count')).body.count ?? 0, 0);
    cloud.graph.poster(instance.number).hold(false);
    await cloud.reaches(instance, id, 'delivered');
    assert.deepEqual(
      (await cloud.eventsOf(id)).map(({ type }) => type),
      ['message.sent', 'message.delivered'],
    );
  });

  it('quote messages from a moment before, and from long ago', async () => {
    const first = await cloud.send(instance, '/messages/text', { to: TO, text: 'First' });
    const hurried = await cloud.send(instance, '/messages/text', {
      to: TO,
      text: 'Hurried',
      quoted_id: first,
    });
    const wamid = [...cloud.graph.world.messages.values()];
    await bodyOf(hurried);
    const named = cloud.graph.world.ledger.find(
      ({ callbackData }) => callbackData === first.replaceAll('-', '').toUpperCase(),
    )!.id;
    assert.deepEqual((await bodyOf(hurried)).context, { message_id: named });
    await cloud.reaches(instance, first, 'delivered');
    const later = await cloud.send(instance, '/messages/text', { to: TO, text: 'Later', quoted_id: first });
    assert.deepEqual((await bodyOf(later)).context, { message_id: named });
    assert.ok(wamid.length > 0);
  });

  it('name our messages by our ids when somebody quotes them or reacts to them', async () => {
    const mine = await cloud.send(instance, '/messages/text', { to: TO, text: 'Mine' });
    await cloud.reaches(instance, mine, 'delivered');
    const named = cloud.graph.world.ledger.at(-1)!.id;
    cloud.graph.write(TO, instance.number, 'text', { body: 'Answer' }, { context: { id: named } });
    cloud.graph.write(TO, instance.number, 'reaction', { message_id: named, emoji: '❤️' });
    const answer = await waitFor(async () =>
      (await cloud.events(instance.id, 'text.received')).find(({ data }) => data.content.text === 'Answer'),
    );
    assert.equal(answer.data.quoted_id, mine);
    const reaction = await waitFor(async () => (await cloud.events(instance.id, 'reaction.received'))[0]);
    assert.equal(reaction.data.content.message_id, mine);
  });

  it('are never repeated when the answer was lost; the status settles them', async () => {
    for (const kind of ['lose_answer', 'bad_gateway'] as const) {
      cloud.graph.fault({ kind, at: 'after' }, { person: TO });
      const taken = await cloud.send(instance, '/messages/text', { to: TO, text: `Taken ${kind}` });
      await cloud.reaches(instance, taken, 'delivered');
      assert.deepEqual(
        (await cloud.eventsOf(taken)).map(({ type }) => type),
        ['message.sent', 'message.delivered'],
      );
      cloud.graph.fault({ kind, at: 'before' }, { person: TO });
      const lost = await cloud.send(instance, '/messages/text', { to: TO, text: `Lost ${kind}` });
      await cloud.reaches(instance, lost, 'failed');
      assert.equal((await cloud.status(instance, lost)).failed_reason, 'outcome_unknown');
      const next = await cloud.send(instance, '/messages/text', { to: TO, text: `Next ${kind}` });
      await cloud.reaches(instance, next, 'delivered');
      const times = (id: string) =>
        cloud.graph.world.ledger.filter(
          ({ callbackData }) => callbackData === id.replaceAll('-', '').toUpperCase(),
        );
      assert.deepEqual(
        [taken, lost, next].map((id) => times(id).length),
        [1, 0, 1],
      );
    }
  });

  it('that are unknown take the state of a late status', async () => {
    for (const [status, code, expected] of [
      ['delivered', undefined, 'delivered'],
      ['failed', 131026, 'failed'],
    ] as const) {
      cloud.graph.poster(instance.number).hold(true);
      cloud.graph.fault(code ? { kind: 'fail', code } : { kind: 'lose_answer', at: 'after' }, { person: TO });
      if (code) cloud.graph.world.faults.at(-1)!.left = 0;
      if (code) cloud.graph.fault({ kind: 'lose_answer', at: 'before' }, { person: TO });
      const id = await cloud.send(instance, '/messages/text', { to: TO, text: `Late ${status}` });
      await waitFor(async () => (await cloud.status(instance, id)).failed_reason === 'outcome_unknown');
      cloud.graph.poster(instance.number).hold(false);
      if (code)
        cloud.graph.status(
          {
            ...[...cloud.graph.world.messages.values()].at(-1)!,
            id: 'wamid.LATE',
            callbackData: id.replaceAll('-', '').toUpperCase(),
          },
          'failed',
          code,
        );
      await waitFor(async () => {
        const now = await cloud.status(instance, id);
        return now.status === expected && now.failed_reason !== 'outcome_unknown';
      });
      assert.equal((await cloud.status(instance, id)).failed_reason, code ? 'undeliverable' : null);
    }
  });

  it('answer 501 for types that the network lacks, before anything is queued', async () => {
    const cases: [string, unknown][] = [
      ['/messages/poll', { to: TO, question: 'Q', options: ['a', 'b'] }],
      ['/messages/event', { to: TO, name: 'E', start_at: '2027-01-01T00:00:00Z' }],
      ['/messages/text', { to: '120363000000000001@g.us', text: 'To a group' }],
      ['/messages/status/text', { text: 'A story' }],
      ['/groups', { name: 'G', participants: [] }],
      ['/pairing-code', { phone: TO }],
    ];
    for (const [path, body] of cases) {
      const refused = await cloud.call(instance.id, 'POST', path, body);
      assert.deepEqual([path, refused.status], [path, 501]);
    }
  });

  it('go only to people who have written within 24 hours, and each chat shows until when', async () => {
    const stranger = '5531900000044';
    const send = (headers = {}) =>
      cloud.api.call('POST', `/v1/instances/${instance.id}/messages/text`, {
        key: cloud.company.apiKey,
        headers: { 'idempotency-key': crypto.randomUUID(), ...headers },
        body: { to: stranger, text: 'Out of the blue' },
      });
    const refused = await send();
    assert.deepEqual([refused.status, refused.body.error_code], [409, 'CONVERSATION_WINDOW_CLOSED']);
    assert.equal((await send({ 'x-force-send': 'true' })).status, 202);
    await cloud.greet(instance, stranger);
    assert.equal((await send()).status, 202);
    const chat = async () => (await cloud.call(instance.id, 'GET', `/chats/${stranger}`)).body;
    const untilMs = Date.parse((await chat()).window_until) - Date.now();
    assert.ok(untilMs > 86_000_000 && untilMs <= 86_400_000, `${untilMs} ms`);
    await cloud.api.parts.db.query(
      `UPDATE messages SET created_at = created_at - interval '24 hours' WHERE instance_id = $1 AND chat_jid LIKE $2`,
      [instance.id, `${stranger}%`],
    );
    assert.deepEqual([(await send()).status, (await chat()).window_until], [409, null]);
  });

  it('go for 24 hours from when somebody wrote, however late and in which order Meta posts their messages', async () => {
    const person = '5531900000066';
    const wrote = (hoursAgo: number) =>
      cloud.greet(instance, person, { timestamp: String(Math.floor(Date.now() / 1000) - hoursAgo * 3600) });
    const hoursLeft = async () => {
      const { body } = await cloud.call(instance.id, 'GET', `/chats/${person}`);
      return body.window_until && Math.round((Date.parse(body.window_until) - Date.now()) / 3_600_000);
    };
    const send = () => cloud.call(instance.id, 'POST', '/messages/text', { to: person, text: 'Hello' });
    await wrote(30);
    assert.deepEqual(
      [await hoursLeft(), (await send()).body.error_code],
      [null, 'CONVERSATION_WINDOW_CLOSED'],
    );
    await wrote(4);
    assert.deepEqual([await hoursLeft(), (await send()).status], [20, 202]);
    await wrote(26);
    assert.deepEqual([await hoursLeft(), (await send()).status], [20, 202]);
  });

  it('are approved templates to people who have not written, as Meta describes them', async () => {
    const stranger = '5531900000055';
    const components = [
      { type: 'body', parameters: [{ type: 'text', text: 'Ana' }] },
      { type: 'button', sub_type: 'url', index: 0, parameters: [{ type: 'text', text: 'track/1' }] },
      {
        type: 'carousel',
        cards: [
          {
            card_index: 0,
            components: [
              { type: 'header', parameters: [{ type: 'image', image: { id: '24230790383178626' } }] },
              { type: 'body', parameters: [{ type: 'text', text: '10OFF' }] },
              {
                ...{ type: 'button', sub_type: 'quick_reply', index: 0 },
                parameters: [{ type: 'payload', payload: 'first-card' }],
              },
            ],
          },
        ],
      },
    ];
    const body = { to: stranger, name: 'order_shipped', language: 'pt_BR', components };
    const id = await cloud.send(instance, '/messages/approved-template', body);
    assert.deepEqual((await bodyOf(id)).template, {
      name: 'order_shipped',
      language: { code: 'pt_BR' },
      components,
    });
    await cloud.reaches(instance, id, 'delivered');
    for (const wrong of [
      { name: 'Order Shipped' },
      { language: 'english' },
      { components: [{ type: 'body' }] },
      { components: [{ type: 'carousel', parameters: [] }] },
    ]) {
      const refused = await cloud.call(instance.id, 'POST', '/messages/approved-template', {
        ...body,
        ...wrong,
      });
      assert.equal(refused.status, 400, JSON.stringify(wrong));
    }
  });

  it('mark as read and type', async () => {
    const received = cloud.graph.write(TO, instance.number, 'text', { body: 'Seen?' });
    await waitFor(async () =>
      (await cloud.events(instance.id, 'text.received')).some(({ data }) => data.content.text === 'Seen?'),
    );
    const typed = await cloud.call(instance.id, 'POST', '/presence', { state: 'composing', chat_jid: TO });
    assert.ok(typed.status < 300, typed.text);
    assert.equal(cloud.graph.world.messages.get(received)!.isRead, true);
    const second = cloud.graph.write(TO, instance.number, 'text', { body: 'And this?' });
    await waitFor(async () =>
      (await cloud.events(instance.id, 'text.received')).some(
        ({ data }) => data.content.text === 'And this?',
      ),
    );
    const read = await cloud.call(instance.id, 'POST', `/chats/${TO}/read`, {});
    assert.equal(read.status, 200, read.text);
    await waitFor(async () => cloud.graph.world.messages.get(second)!.isRead);
  });
});
