import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import { tellAbilities } from '@posthorn/core/instances/driver-abilities.ts';
import { ABILITIES } from '@posthorn/core/network/abilities.ts';
import { databaseState } from '../accounts/support/database-state.ts';
import { sampleBody } from '../accounts/support/sample-body.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

/** The routes that ask a network for something, with the ability that each needs. */
const ACTIONS: Record<string, string> = {
  'messages.pin': 'pin',
  'messages.votePoll': 'poll_vote',
  'messages.star': 'star',
  'status.privacy': 'status_privacy',
  'labels.create': 'label_edit',
  'labels.update': 'label_edit',
  'labels.remove': 'label_edit',
  'labels.addToChat': 'label_chat',
  'labels.removeFromChat': 'label_chat',
  'labels.addToMessage': 'label_message',
  'labels.removeFromMessage': 'label_message',
  'chats.read': 'chat_read',
  'chats.archive': 'chat_archive',
  'chats.pin': 'chat_pin',
  'chats.mute': 'chat_mute',
  'contacts.check': 'contacts_check',
  'contacts.block': 'contact_block',
  'contacts.unblock': 'contact_block',
  'instances.pairingCode': 'pairing_code',
  'groups.create': 'group_create',
  'groups.list': 'groups_list',
  'groups.join': 'group_join',
  'groups.get': 'group_info',
  'groups.update': 'group_update',
  'groups.changeParticipants': 'group_participants',
  'groups.invite': 'group_invite',
  'groups.revokeInvite': 'group_revoke_invite',
  'groups.leave': 'group_leave',
  'presence.set': 'presence_set',
  'presence.subscribe': 'presence_subscribe',
  'profile.get': 'profile',
  'profile.update': 'profile_update',
  'business.profile': 'business_profile',
  'business.catalog': 'business_catalog',
  'business.collections': 'business_collections',
  'templates.list': 'template_list',
  'templates.create': 'template_create',
  'templates.remove': 'template_delete',
  'lids.get': 'lid_phone',
};
/** Routes that need the network only for a refresh. */
const REFRESHED: ReadonlySet<string> = new Set(['groups.list', 'groups.get', 'lids.get']);

/** Abilities that no route uses: the worker does, when a setting says so. */
const WORKERS_OWN: ReadonlySet<string> = new Set(['reject_call']);

describe('the abilities that a network lacks', () => {
  let pipeline: Sending;
  let instance: TestInstance;
  let unpaired: TestInstance;
  before(async () => {
    pipeline = await startSending();
    instance = await pipeline.connect();
    const made = await pipeline.api.call('POST', '/v1/instances', {
      key: pipeline.company.apiKey,
      body: { name: 'not paired' },
    });
    unpaired = { id: made.body.id, phone: '', jid: '' };
    await tellAbilities(pipeline.api.parts.db, { name: 'sandbox', lacks: [...ABILITIES] });
  });
  after(() => pipeline.close());

  const routes = listRoutes(messagingContract).flatMap(({ name, route }) => {
    const { operation } = metaOf(route);
    const ability = operation ?? ACTIONS[name];
    return ability === undefined ? [] : [{ name, route, ability }];
  });

  test('are each used by a route', () => {
    const used = new Set(routes.map(({ ability }) => ability));
    assert.deepEqual(
      ABILITIES.filter((ability) => !used.has(ability) && !WORKERS_OWN.has(ability)),
      [],
    );
  });

  for (const { name, route } of routes) {
    test(`answer 501 NOT_IMPLEMENTED and queue nothing: ${name}`, async () => {
      const target = name === 'instances.pairingCode' ? unpaired : instance;
      const filled = route.path.replace('/v1/instances/:instanceId', '').replace(/:\w+/g, () => randomUUID());
      const path = REFRESHED.has(name) ? `${filled}?refresh=true` : filled;
      const body = bodyOf(name, sampleBody(route));
      const before = await databaseState(pipeline.api.parts.db);
      const answer = await pipeline.call(target, route.method, path, body);
      assert.deepEqual([answer.status, answer.body.error_code], [501, 'NOT_IMPLEMENTED'], answer.text);
      const after = await databaseState(pipeline.api.parts.db);
      for (const table of ['outbox', 'messages', 'scheduled_sends', 'network_calls', 'idempotency_keys'])
        assert.equal(after.get(`public.${table}`), before.get(`public.${table}`), table);
    });
  }

  test('are reported by the worker when it starts, and a driver with every ability reports none', async () => {
    await tellAbilities(pipeline.api.parts.db, { name: 'sandbox', lacks: [] });
    const sent = await pipeline.call(instance, 'POST', '/messages/text', {
      to: pipeline.newPhone(),
      text: 'can',
    });
    assert.equal(sent.status, 202, sent.text);
  });
});

/** Sends media as base64, because none is stored, and names the operation of a scheduled send in its body. */
function bodyOf(name: string, body: unknown): unknown {
  const { media_id, ...rest } = (body ?? {}) as Record<string, unknown>;
  if (media_id !== undefined) return { ...rest, media_base64: `data:image/png;base64,${PNG}` };
  return name === 'scheduled.create' ? { ...rest, type: 'text' } : body;
}

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
