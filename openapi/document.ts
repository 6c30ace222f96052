import { billingContract } from '@posthorn/contract/billing/index.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import type { AppRouter } from '@ts-rest/core';
import { generateOpenApiAsync } from '@ts-rest/open-api';
import { BILLING_TAGS, COMPONENTS, TAGS } from './components.ts';
import { describeDeliveries } from './event-webhooks.ts';
import { type Json, jsonSchemaOf } from './json-schema.ts';
import { completeOperation } from './operation.ts';
import manifest from './package.json' with { type: 'json' };
import { shareResponses } from './share-responses.ts';

const LICENSE = { name: 'MIT', identifier: 'MIT' };

/** The OpenAPI 3.1 document of the messaging service, as the text of the committed file. */
export async function messagingDocument(): Promise<string> {
  const { webhooks, schemas } = describeDeliveries();
  return documentOf(messagingContract, {
    title: 'Posthorn messaging API',
    description:
      'Multi-tenant messaging: connect instances, send messages, receive events. Sends answer 202 and are reported by events. Errors have one shape, Error, with a stable error_code.',
    url: 'http://localhost:8080',
    tags: TAGS,
    webhooks,
    schemas,
  });
}

/** Of the billing service. */
export async function billingDocument(): Promise<string> {
  return documentOf(billingContract, {
    title: 'Posthorn billing API',
    description:
      'Plans, the subscription of a company, its cards and charges. Takes the JWTs and keys of the messaging API. What middleware refuses (401, 403, 429) has the shape Error, everything else the shape BillingError.',
    url: 'http://localhost:8081',
    tags: BILLING_TAGS,
  });
}

async function documentOf(
  contract: AppRouter,
  about: { title: string; description: string; url: string; tags: Json[]; webhooks?: Json; schemas?: Json },
): Promise<string> {
  const info = {
    title: about.title,
    version: manifest.version,
    description: about.description,
    license: LICENSE,
  };
  const base = { openapi: '3.1.0', info, servers: [{ url: about.url }], tags: about.tags };
  const document = (await generateOpenApiAsync(contract, base, {
    setOperationId: 'concatenated-path',
    schemaTransformer: async ({ schema, type }) =>
      jsonSchemaOf(schema, type === 'response' ? 'output' : 'input'),
    operationMapper: (operation, route) => completeOperation(operation as unknown as Json, route) as never,
  })) as unknown as Json;
  const generated = document.components as { schemas: Json };
  const all = { ...generated.schemas, ...about.schemas };
  const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
  const responses = shareResponses(document.paths as Json);
  const whole = {
    ...document,
    ...(about.webhooks ? { webhooks: about.webhooks } : {}),
    components: { ...COMPONENTS, responses, schemas: sorted },
  };
  return `${JSON.stringify(whole, null, 2)}\n`;
}
