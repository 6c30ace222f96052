import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorCatalogue, errorEnvelope, isErrorCode } from '@posthorn/contract/errors.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { commonErrors, errorsOf, metaOf } from '@posthorn/contract/route-meta.ts';
import type { AppRoute } from '@ts-rest/core';

const routes = listRoutes(messagingContract);

/** Method, path, credentials, who may call and the success statuses, written down apart from the contract. */
const EXPECTED: [string, string, string, number[]][] = [
  ['POST /v1/auth/register', 'none', 'public', [201]],
  ['POST /v1/auth/login', 'none', 'public', [200]],
  ['GET /v1/tokens', 'any', 'owner', [200]],
  ['POST /v1/tokens', 'any', 'owner', [201]],
  ['DELETE /v1/tokens/:id', 'any', 'owner', [204]],
  ['POST /v1/instances', 'any', 'owner_admin', [201]],
  ['GET /v1/instances', 'any', 'owner_admin', [200]],
  ['GET /v1/instances/:instanceId', 'any', 'owner_admin', [200]],
  ['PATCH /v1/instances/:instanceId', 'any', 'owner_admin', [200]],
  ['DELETE /v1/instances/:instanceId', 'any', 'owner_admin', [204]],
  ['POST /v1/instances/:instanceId/connect', 'any', 'owner_admin', [202]],
  ['POST /v1/instances/:instanceId/disconnect', 'any', 'owner_admin', [202]],
  ['POST /v1/instances/:instanceId/restart', 'any', 'owner_admin', [202]],
  ['POST /v1/instances/:instanceId/logout', 'any', 'owner_admin', [202]],
  ['GET /v1/instances/:instanceId/qr', 'any', 'owner_admin', [200]],
  ['POST /v1/instances/:instanceId/pairing-code', 'any', 'owner_admin', [200]],
  ['PUT /v1/instances/:instanceId/credentials', 'any', 'owner_admin', [200]],
  ['GET /v1/webhooks/whatsapp-cloud/:instanceId', 'none', 'public', [200]],
  ['POST /v1/webhooks/whatsapp-cloud/:instanceId', 'none', 'public', [200]],
  ['GET /v1/instances/:instanceId/connection', 'any', 'owner_admin', [200]],
  ['GET /v1/instances/:instanceId/settings', 'any', 'owner_admin', [200]],
  ['PATCH /v1/instances/:instanceId/settings', 'any', 'owner_admin', [200]],
  ['POST /v1/instances/:instanceId/messages/text', 'any', 'all', [202]],
  ['GET /v1/instances/:instanceId/message/:messageId', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/labels', 'any', 'owner_admin', [201]],
  ['GET /v1/instances/:instanceId/labels', 'any', 'owner_admin', [200]],
  ['PATCH /v1/instances/:instanceId/labels/:labelId', 'any', 'owner_admin', [200]],
  ['DELETE /v1/instances/:instanceId/labels/:labelId', 'any', 'owner_admin', [204]],
  ['GET /v1/instances/:instanceId/labels/:labelId/chats', 'any', 'owner_admin', [200]],
  ['POST /v1/instances/:instanceId/chats/:chatId/labels/:labelId', 'any', 'owner_admin', [200]],
  ['POST /v1/instances/:instanceId/messages/:messageId/labels/:labelId', 'any', 'owner_admin', [200]],
  ['DELETE /v1/instances/:instanceId/chats/:chatId/labels/:labelId', 'any', 'owner_admin', [200]],
  ['DELETE /v1/instances/:instanceId/messages/:messageId/labels/:labelId', 'any', 'owner_admin', [200]],
  ['POST /v1/instances/:instanceId/chats/:chatId/notes', 'any', 'owner_admin', [201]],
  ['GET /v1/instances/:instanceId/chats/:chatId/notes', 'any', 'owner_admin', [200]],
  ['PATCH /v1/instances/:instanceId/chats/:chatId/notes/:noteId', 'any', 'owner_admin', [200]],
  ['DELETE /v1/instances/:instanceId/chats/:chatId/notes/:noteId', 'any', 'owner_admin', [204]],
  ['GET /v1/instances/:instanceId/chats', 'any', 'all', [200]],
  ['GET /v1/instances/:instanceId/chats/:chatId', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/chats/:chatId/read', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/chats/:chatId/archive', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/chats/:chatId/pin', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/chats/:chatId/mute', 'any', 'all', [200]],
  ['GET /v1/instances/:instanceId/contacts', 'any', 'all', [200]],
  ['GET /v1/instances/:instanceId/contacts/:contactId', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/contacts/check', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/contacts/:contactId/block', 'any', 'all', [200]],
  ['DELETE /v1/instances/:instanceId/contacts/:contactId/block', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/groups', 'any', 'all', [201]],
  ['GET /v1/instances/:instanceId/groups', 'any', 'all', [200]],
  ['GET /v1/instances/:instanceId/groups/:groupJid', 'any', 'all', [200]],
  ['PATCH /v1/instances/:instanceId/groups/:groupJid', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/groups/:groupJid/participants', 'any', 'all', [200]],
  ['GET /v1/instances/:instanceId/groups/:groupJid/invite', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/groups/:groupJid/invite', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/groups/join', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/groups/:groupJid/leave', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/presence', 'any', 'all', [200]],
  ['POST /v1/instances/:instanceId/presence/:personJid/subscribe', 'any', 'all', [200]],
  ['GET /v1/instances/:instanceId/profile', 'any', 'all', [200]],
  ['PATCH /v1/instances/:instanceId/profile', 'any', 'all', [200]],
  ['GET /v1/instances/:instanceId/business/profile', 'any', 'owner_admin', [200]],
  ['GET /v1/instances/:instanceId/business/catalog', 'any', 'owner_admin', [200]],
  ['GET /v1/instances/:instanceId/templates', 'any', 'owner_admin', [200]],
  ['POST /v1/instances/:instanceId/templates', 'any', 'owner_admin', [201]],
  ['DELETE /v1/instances/:instanceId/templates/:templateName', 'any', 'owner_admin', [204]],
  ['GET /v1/instances/:instanceId/business/collections', 'any', 'owner_admin', [200]],
  ['GET /v1/instances/:instanceId/lids/:lid', 'any', 'all', [200]],
  ['POST /v1/webhooks', 'any', 'owner_admin', [201]],
  ['GET /v1/webhooks', 'any', 'owner_admin', [200]],
  ['GET /v1/webhooks/:webhookId', 'any', 'owner_admin', [200]],
  ['PATCH /v1/webhooks/:webhookId', 'any', 'owner_admin', [200]],
  ['DELETE /v1/webhooks/:webhookId', 'any', 'owner_admin', [204]],
  ['GET /v1/webhooks/:webhookId/logs', 'any', 'owner_admin', [200]],
  ['GET /v1/event-deliveries', 'any', 'all', [200]],
  ['GET /v1/events/stream', 'any', 'all', [200]],
  ['GET /v1/events/ws', 'any', 'all', [101]],
  ['GET /v1/events', 'any', 'all', [200]],
  ['GET /v1/events/:eventId', 'any', 'all', [200]],
  ['POST /v1/events/ticket', 'any', 'all', [201]],
  ['GET /v1/usage', 'any', 'all', [200]],
  ['GET /v1/instances/:instanceId/usage', 'any', 'all', [200]],
  ['GET /v1/admin/instances', 'jwt', 'superadmin', [200]],
  ['GET /v1/admin/ip-reputation', 'jwt', 'superadmin', [200]],
  ['POST /v1/feedback', 'any', 'all', [201]],
  ['GET /v1/admin/feedback', 'jwt', 'superadmin', [200]],
  ['PATCH /v1/admin/feedback/:id', 'jwt', 'superadmin', [200]],
  ['GET /v1/playground', 'any', 'all', [200]],
  ['POST /v1/playground/messages', 'any', 'all', [202]],
  ['GET /v1/playground/messages/:messageId', 'any', 'all', [200]],
  ['GET /health', 'none', 'public', [200]],
  ['GET /ready', 'none', 'public', [200]],
  ['GET /metrics', 'none', 'public', [200]],
  ['GET /openapi.json', 'none', 'public', [200, 304]],
  ['GET /docs', 'none', 'public', [200, 304]],
  ['GET /docs/reference.js', 'none', 'public', [200, 304]],
];

describe('the messaging contract', () => {
  for (const [key, auth, access, success] of EXPECTED) {
    it(`has ${key} for ${access}, answering ${success}`, () => {
      const route = routeOf(key);
      assert.equal(metaOf(route).auth, auth);
      assert.equal(metaOf(route).access, access);
      assert.deepEqual(
        statuses(route).filter((status) => status < 400),
        success,
      );
    });
  }

  it('has each method and path once', () => {
    const keys = routes.map(({ route }) => `${route.method} ${route.path}`);
    assert.equal(new Set(keys).size, keys.length);
  });

  for (const { name, route } of routes) {
    it(`${name} declares the statuses of its codes and no other error`, () => {
      const codes = errorsOf(route);
      assert.ok(codes.every(isErrorCode));
      assert.ok(commonErrors(metaOf(route).auth).every((code) => codes.includes(code)));
      const declared = statuses(route).filter((status) => status >= 400);
      assert.deepEqual(declared, [...new Set(codes.map((code) => errorCatalogue[code].status))].sort());
      const shaped =
        route === messagingContract.health.ready ? declared.filter((status) => status !== 503) : declared;
      for (const status of shaped) assert.equal(route.responses[status], errorEnvelope);
      assert.ok(metaOf(route).summary.length > 0);
    });

    // A provider is one of two names, not an id: an unknown one has its own code.
    if (route.path.replace(':provider', '').includes(':')) {
      it(`${name} declares its answer to an unknown id`, () => {
        const { notFound } = metaOf(route);
        assert.ok(notFound);
        assert.equal(errorCatalogue[notFound].status, 404);
      });
    }
  }

  it('requires a verified e-mail for routes that spend resources', () => {
    const wanting = routes
      .filter(({ route }) => metaOf(route).requiresVerifiedEmail)
      .map(({ route }) => route.path);
    assert.deepEqual(wanting.sort(), ['/v1/instances', '/v1/tokens', '/v1/users', '/v1/webhooks']);
  });

  it('wants an Idempotency-Key of each send, whose missing key and guard answers are declared', () => {
    for (const { name, route } of routes.filter(({ route }) => metaOf(route).operation)) {
      const codes = errorsOf(route);
      for (const code of [
        'IDEMPOTENCY_KEY_REQUIRED',
        'IDEMPOTENCY_KEY_REUSED',
        'PASSIVE_MODE_ENABLED',
        'BLOCKED_DUPLICATE_CONTENT',
        'BLOCKED_NO_RECIPROCITY',
        'BLOCKED_TEMPERATURE_LIMIT',
      ] as const)
        assert.ok(codes.includes(code), `${name} ${code}`);
    }
  });
});

function routeOf(key: string): AppRoute {
  const found = routes.find(({ route }) => `${route.method} ${route.path}` === key);
  assert.ok(found, `${key} is not in the contract`);
  return found.route;
}

function statuses(route: AppRoute): number[] {
  return Object.keys(route.responses)
    .map(Number)
    .sort((a, b) => a - b);
}
