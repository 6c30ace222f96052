import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { prepareRoute } from '@posthorn/server/http/prepared-route.ts';
import type { z } from 'zod/v4';
import { createParts, type Parts } from '../support/parts.ts';
import { inputSchemas, walkSchema } from '../support/walk-schema.ts';

/** The largest id of a column of this type; of a bigint the largest that JSON carries unharmed. */
const LARGEST: Record<string, number> = { integer: 2 ** 31 - 1, bigint: Number.MAX_SAFE_INTEGER };

/** The column that an id of the path is looked up in: a line for each parameter, or for it and its route. */
const PATH_COLUMNS: Record<string, string> = {
  companyId: 'public.companies',
  webhookId: 'public.webhooks',
  logId: 'public.webhook_delivery_logs',
  itemId: 'billing.subscription_items',
  'users.update id': 'public.users',
  'users.remove id': 'public.users',
  'tokens.get id': 'public.api_tokens',
  'tokens.revoke id': 'public.api_tokens',
  'feedback.update id': 'public.feedback',
  'admin.reprocessEvent id': 'billing.provider_events',
  'subscriptions.changePlan id': 'billing.subscriptions',
  'subscriptions.cancel id': 'billing.subscriptions',
  'subscriptions.addItem id': 'billing.subscriptions',
  'subscriptions.removeItem id': 'billing.subscriptions',
  'cards.makeDefault id': 'billing.cards',
  'cards.remove id': 'billing.cards',
};

/** The same for the integer ids of queries and bodies. */
const FIELD_COLUMNS: Record<string, string> = {
  'notes.list query before': 'public.chat_notes',
  'audit.list query before': 'public.audit_log',
  'feedback.list query before': 'public.feedback',
  'admin.listInstances query company_id': 'public.companies',
  'deliveries.companyLogs query webhook_id': 'public.webhooks',
  'deliveries.events query webhook_id': 'public.webhooks',
  'deliveries.metrics query webhook_id': 'public.webhooks',
  'deliveries.retryBulk body log_ids.[]': 'public.webhook_delivery_logs',
  'admin.listEvents query before': 'billing.provider_events',
  'subscriptions.create body card_id': 'billing.cards',
  'cards.tokenize body billing_profile_id': 'billing.profiles',
};

let parts: Parts;
const typeOf = new Map<string, string>();

before(async () => {
  parts = await createParts();
  const { rows } = await parts.db.query<{ name: string; type: string }>(
    `SELECT table_schema || '.' || table_name AS name, data_type AS type
     FROM information_schema.columns WHERE column_name = 'id'`,
  );
  for (const { name, type } of rows) typeOf.set(name, type);
});
after(() => parts.close());

function largestIn(columns: Record<string, string>, ...names: string[]): number {
  const table = names.map((name) => columns[name]).find((found) => found !== undefined);
  assert.ok(table, `a line for ${names[0]}: the table whose ids it takes`);
  const largest = LARGEST[typeOf.get(table) ?? ''];
  assert.ok(largest, `the ids of ${table} are integers`);
  return largest;
}

describe('the largest id that is accepted is the largest of its column', () => {
  const metrics = createMetrics({ collectProcess: false });
  for (const { name, route } of [messagingContract, billingContract].flatMap((contract) =>
    listRoutes(contract),
  ))
    for (const param of prepareRoute(name, route, { metrics }).params) {
      const isInteger = param.fits('1') && !param.fits('x');
      if (!isInteger) continue;
      test(`${param.name} in the path of ${name}`, () => {
        const largest = largestIn(PATH_COLUMNS, `${name} ${param.name}`, param.name);
        assert.ok(param.fits(String(largest)));
        assert.ok(!param.fits(String(BigInt(largest) + 1n)));
      });
    }

  for (const [field, schema] of integerIds())
    test(field, () => {
      const largest = largestIn(FIELD_COLUMNS, field);
      assert.deepEqual(schema.safeParse(largest), { success: true, data: largest });
      const more = schema.safeParse(largest + 1);
      assert.ok(
        !more.success || (more.data as number) <= largest,
        `${largest + 1} is refused, or counts as less`,
      );
    });
});

/** Every integer of a query or a body that is named as an id, or as the start of the next page. */
function integerIds(): Map<string, z.ZodType> {
  const found = new Map<string, z.ZodType>();
  for (const { name, part, schema } of inputSchemas()) {
    if (part !== 'query' && part !== 'body') continue;
    walkSchema(schema, (field, path) => {
      const step = path.findLast((each) => each !== '[]') ?? '';
      const key = `${name} ${path.join('.')}`;
      // The outermost schema of a field has all of its checks.
      if (/(^|_)ids?$|^before$/.test(step) && !found.has(key) && takesIntegers(field)) found.set(key, field);
    });
  }
  return found;
}

function takesIntegers(field: z.ZodType): boolean {
  return field.safeParse(1).success && !field.safeParse('a').success && !field.safeParse(1.5).success;
}
