import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventPayloads } from '@posthorn/contract/events.ts';
import { bodyOf, signatureOf } from '@posthorn/network/sandbox/graph/post.ts';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';

const BODY = {
  name: 'order_shipped',
  language: 'en_US',
  category: 'UTILITY',
  components: [
    { type: 'BODY', text: 'Hi {{1}}, your order left.', example: { body_text: [['Ana']] } },
    { type: 'BUTTONS', buttons: [{ type: 'QUICK_REPLY', text: 'Thanks' }] },
  ],
};

describe('templates that Meta reviews', () => {
  let cloud: CloudSending;
  let instance: CloudInstance;
  before(async () => {
    cloud = await startCloudSending();
    instance = await cloud.connect();
  });
  after(() => cloud?.close());

  const create = (changes: Record<string, unknown> = {}, at = instance.id) =>
    cloud.call(at, 'POST', '/templates', { ...BODY, ...changes });
  const list = async (query = '') => {
    const answer = await cloud.call(instance.id, 'GET', `/templates${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body as { templates: { name: string; language: string }[]; next_page_cursor?: string };
  };
  const remove = (name: string) => cloud.call(instance.id, 'DELETE', `/templates/${name}`);
  const known = (name: string, language = 'en_US') =>
    [...cloud.graph.world.templates.values()].find(
      (each) => each.name === name && each.language === language,
    )!;

  it('are passed to Meta unchanged, and shown as Meta shows them', async () => {
    const made = await create();
    assert.equal(made.status, 201, made.text);
    const at = known('order_shipped');
    assert.deepEqual(at.components, BODY.components);
    assert.deepEqual(made.body, {
      ...{ ...BODY, id: at.id, status: 'PENDING' },
      ...{ rejected_reason: null, quality: null },
    });
    assert.deepEqual((await list()).templates, [
      { ...BODY, id: at.id, status: 'PENDING', rejected_reason: null, quality: 'UNKNOWN' },
    ]);
    const answer = await list('?name=order_shipped&status=APPROVED');
    assert.deepEqual(answer, { templates: [] });
  });

  it('may have placeholders with names, which Meta is told of', async () => {
    const named = {
      ...{ type: 'BODY', text: 'Hi {{first_name}}, your order left.' },
      example: { body_text_named_params: [{ param_name: 'first_name', example: 'Ana' }] },
    };
    const made = await create({ name: 'with_names', components: [named] });
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(known('with_names').components, [named]);
  });

  it('may have a code filled in without a tap, by the apps that they name', async () => {
    const button = {
      ...{ type: 'OTP', otp_type: 'ZERO_TAP', text: 'Copy', autofill_text: 'Fill in' },
      supported_apps: [{ package_name: 'com.example.luckyshrub', signature_hash: 'K8a/AINcGX7' }],
      zero_tap_terms_accepted: true,
    };
    const components = [
      { type: 'BODY', add_security_recommendation: true },
      { type: 'FOOTER', code_expiration_minutes: 5 },
      { type: 'BUTTONS', buttons: [button] },
    ];
    const made = await create({ name: 'code', category: 'AUTHENTICATION', components });
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(known('code').components, components);
  });

  it('are refused with 400 when they are malformed, and with the words of Meta when it refuses them', async () => {
    for (const wrong of [
      { name: 'Order Shipped' },
      { name: 'a'.repeat(513) },
      { language: 'english' },
      { category: 'GREETING' },
      { components: [] },
      { components: Array.from({ length: 17 }, () => BODY.components[0]) },
      { components: [{ type: 'BODY', text: 'x'.repeat(1025) }] },
      { components: [{ type: 'BUTTONS', buttons: Array.from({ length: 11 }, () => ({ type: 'URL' })) }] },
    ]) {
      const refused = await create(wrong);
      assert.deepEqual(
        [refused.status, refused.body.error_code],
        [400, 'BAD_REQUEST'],
        JSON.stringify(wrong).slice(0, 200),
      );
    }
    const refused = await create({ name: 'ends_badly', components: [{ type: 'BODY', text: 'Hello {{1}}' }] });
    assert.deepEqual([refused.status, refused.body.error_code], [400, 'BAD_REQUEST']);
    assert.match(refused.body.message, /Variables cannot be at the start or end/);
    assert.equal(known('ends_badly'), undefined);
  });

  it('exist once for each name and language', async () => {
    assert.equal((await create({ name: 'twice' })).status, 201);
    const again = await create({ name: 'twice' });
    assert.deepEqual([again.status, again.body.error_code], [409, 'CONFLICT']);
    assert.equal((await create({ name: 'twice', language: 'pt_BR' })).status, 201);
    assert.equal((await create({ name: 'twice_as_long' })).status, 201);
  });

  it('are deleted in one language or in all of them, and answer 404 where there is none', async () => {
    for (const language of ['en_US', 'pt_BR', 'es']) await create({ name: 'going', language });
    await create({ name: 'going_on' });
    const languages = async () =>
      (await list('?name=going')).templates.map(({ name, language }) => `${name} ${language}`);
    assert.equal((await remove('going?language=es')).status, 204);
    assert.deepEqual(await languages(), ['going en_US', 'going pt_BR', 'going_on en_US']);
    assert.equal((await remove('going')).status, 204);
    assert.deepEqual(await languages(), ['going_on en_US']);
    for (const [name, status] of [
      ['going', 404],
      ['going_on?language=pt_BR', 404],
      ['No-Name', 404],
      ['going_on?language=english', 400],
    ] as const)
      assert.deepEqual([name, (await remove(name)).status], [name, status]);
    assert.deepEqual(await languages(), ['going_on en_US']);
  });

  it('are listed page by page, each once', async () => {
    const all = (await list()).templates;
    const seen: unknown[] = [];
    let cursor = '';
    do {
      const { templates, next_page_cursor } = await list(`?limit=2${cursor && `&cursor=${cursor}`}`);
      assert.ok(templates.length <= 2);
      seen.push(...templates);
      cursor = next_page_cursor ? encodeURIComponent(next_page_cursor) : '';
    } while (cursor !== '');
    assert.deepEqual(seen, all);
    const wrong = await cloud.call(instance.id, 'GET', '/templates?cursor=elsewhere');
    assert.deepEqual([wrong.status, wrong.body.error_code], [400, 'BAD_REQUEST']);
  });

  it('are neither shown nor deleted when they belong to other accounts, and instances of other companies are 404', async () => {
    const other = await cloud.connect();
    assert.equal((await create({ name: 'theirs' }, other.id)).status, 201);
    assert.equal(
      (await list()).templates.some(({ name }) => name === 'theirs'),
      false,
    );
    assert.equal((await remove('theirs')).status, 404);
    const stranger = await seedCompany(cloud.api.parts.db);
    for (const [method, path, body] of [
      ['GET', '/templates', undefined],
      ['POST', '/templates', BODY],
      ['DELETE', '/templates/theirs', undefined],
    ] as const) {
      const answer = await cloud.api.call(method, `/v1/instances/${other.id}${path}`, {
        key: stranger.apiKey,
        ...(body ? { body } : {}),
      });
      assert.deepEqual([answer.status, answer.body.error_code], [404, 'INSTANCE_NOT_FOUND'], path);
    }
    assert.ok(known('theirs'));
  });

  it('answer with our codes for the codes of Meta', async () => {
    for (const [code, status, error] of [
      [80007, 429, 'RATE_LIMITED'],
      [80008, 429, 'RATE_LIMITED'],
      [131031, 502, 'SEND_FAILED'],
      [2, 503, 'SERVICE_UNAVAILABLE'],
    ] as const) {
      cloud.graph.fault({ kind: 'error', code }, { person: 'message_templates' });
      const answer = await cloud.call(instance.id, 'GET', '/templates');
      assert.deepEqual([code, answer.status, answer.body.error_code], [code, status, error]);
    }
  });

  it('do not end the session when the token may not manage them any more, as it may still send', async () => {
    for (const ask of [
      () => cloud.call(instance.id, 'GET', '/templates'),
      () => create({ name: 'unmanaged' }),
      () => remove('unmanaged'),
    ]) {
      cloud.graph.fault({ kind: 'error', code: 200 }, { person: 'message_templates' });
      const answer = await ask();
      assert.deepEqual([answer.status, answer.body.error_code], [502, 'SEND_FAILED']);
    }
    await cloud.greet(instance, '5531900000031');
    const sent = await cloud.send(instance, '/messages/text', { to: '5531900000031', text: 'Hello' });
    await cloud.reaches(instance, sent, 'delivered');
    assert.deepEqual(await cloud.events(instance.id, 'instance.disconnected'), []);
  });

  const tell = async (type: string, count: number) =>
    waitFor(async () => {
      const told = await cloud.events(instance.id, type);
      return told.length >= count && told;
    });

  it('report each outcome of their review once, however often Meta posts it', async () => {
    const reviewed = await create({ name: 'reviewed' });
    const at = known('reviewed');
    cloud.graph.manners(instance.number, { doubled: true, perBody: 3 });
    cloud.graph.review(at, 'REJECTED', 'INVALID_FORMAT');
    cloud.graph.rate(at, 'YELLOW');
    cloud.graph.recategorize(at, 'MARKETING');
    await cloud.drained();
    cloud.graph.manners(instance.number, { doubled: false, perBody: 1 });
    const about = { template_id: reviewed.body.id, name: 'reviewed', language: 'en_US' };
    for (const [type, data] of [
      ['message_template.status_changed', { status: 'REJECTED', reason: 'INVALID_FORMAT' }],
      ['message_template.quality_changed', { quality: 'YELLOW', previous_quality: 'UNKNOWN' }],
      ['message_template.category_changed', { category: 'MARKETING', previous_category: 'UTILITY' }],
    ] as const) {
      const told = await tell(type, 1);
      assert.deepEqual(
        told.map(({ data: { timestamp: _, ...rest } }) => rest),
        [{ ...about, ...data }],
      );
      assert.deepEqual(eventPayloads[type].parse(told[0]!.data), told[0]!.data);
    }
    const [shown] = (await list('?name=reviewed')).templates;
    assert.deepEqual(shown, {
      ...{ ...BODY, name: 'reviewed', id: at.id, category: 'MARKETING', status: 'REJECTED' },
      ...{ rejected_reason: 'INVALID_FORMAT', quality: 'YELLOW' },
    });
  });

  it('report nothing for an incomplete review, and the items beside it are recorded', async () => {
    const before = (await tell('message_template.status_changed', 1)).length;
    const post = (value: Record<string, unknown>) =>
      cloud.graph.poster(instance.number).push({ field: 'message_template_status_update', value });
    post({ event: 'APPROVED' });
    post({ message_template_id: 1 });
    post({ message_template_id: { $gt: 1 }, event: 'APPROVED' });
    const at = known('reviewed');
    cloud.graph.review(at, 'APPROVED');
    const told = await tell('message_template.status_changed', before + 1);
    await cloud.drained();
    assert.deepEqual(
      told.slice(before).map(({ data }) => [data.name, data.status, data.reason]),
      [['reviewed', 'APPROVED', null]],
    );
    assert.equal((await cloud.events(instance.id, 'message_template.status_changed')).length, before + 1);
  });

  it('are reported with every digit of their ids, although Meta sends numbers larger than JavaScript keeps', async () => {
    const value = { message_template_id: 'ID', message_template_name: 'long_id', event: 'APPROVED' };
    const body = Buffer.from(
      bodyOf(instance.number, [{ field: 'message_template_status_update', value }])
        .toString()
        .replace('"ID"', '12345678901234567891'),
    );
    const headers = { 'x-hub-signature-256': signatureOf(instance.number.appSecret, body) };
    const url = `${cloud.api.url}/v1/webhooks/whatsapp-cloud/${instance.id}`;
    const answer = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });
    assert.equal(answer.status, 200);
    const told = await waitFor(async () =>
      (await cloud.events(instance.id, 'message_template.status_changed')).find(
        ({ data }) => data.name === 'long_id',
      ),
    );
    assert.equal(told.data.template_id, '12345678901234567891');
  });
});
