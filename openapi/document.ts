import { billingContract } from '@posthorn/contract/billing/index.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import type { AppRouter } from '@ts-rest/core';
import { generateOpenApiAsync } from '@ts-rest/open-api';
import { COMPONENTS } from './components.ts';
import { describeDeliveries } from './event-webhooks.ts';
import type { Json } from './json.ts';
import { jsonSchemaOf } from './json-schema.ts';
import { completeOperation, type Service } from './operation.ts';
import manifest from './package.json' with { type: 'json' };
import { shareResponses } from './share-responses.ts';
import { tagsOf } from './tags.ts';
import { usedComponents } from './used-components.ts';

const LICENSE = { name: 'MIT', identifier: 'MIT' };
/** The contact is the operator: there is no one address for all installations. */
const CONTACT = { name: 'The operator of this installation' };

const AUTHENTICATE =
  'Authenticate with the header `X-API-Key: svc_...`. `POST /v1/auth/quick-register` returns the first key, `POST /v1/tokens` creates more. People who log in send the token of `POST /v1/auth/login` as `Authorization: Bearer`; API keys are not accepted in that header.';

/** The OpenAPI 3.1 document of the messaging service, as the text of the committed file. */
export async function messagingDocument(): Promise<string> {
  const { webhooks, schemas } = describeDeliveries();
  return documentOf(messagingContract, {
    service: 'messaging',
    title: 'Posthorn messaging API',
    description: [
      'Multi-tenant messaging: connect instances, send messages, receive events. Sends answer 202, and events report their outcome. All errors have the shape Error, with a stable error_code.',
      AUTHENTICATE,
      'Every send needs an `Idempotency-Key`, your own name for the send: repeating a key never sends twice. The ids in the samples are examples: replace them with those of your instances and messages.',
    ].join('\n\n'),
    url: 'http://127.0.0.1:8080',
    webhooks,
    schemas,
  });
}

/** The OpenAPI 3.1 document of the billing service. */
export async function billingDocument(): Promise<string> {
  return documentOf(billingContract, {
    service: 'billing',
    title: 'Posthorn billing API',
    description: [
      'Plans, the subscription of a company, its cards and charges. Errors of middleware (401, 403, 429) have the shape Error, all others the shape BillingError.',
      `${AUTHENTICATE} Keys and tokens come from the messaging API.`,
    ].join('\n\n'),
    url: 'http://127.0.0.1:8081',
  });
}

interface About {
  service: Service;
  title: string;
  description: string;
  url: string;
  webhooks?: Json;
  schemas?: Json;
}

async function documentOf(contract: AppRouter, about: About): Promise<string> {
  const info = {
    title: about.title,
    version: manifest.version,
    description: about.description,
    contact: CONTACT,
    license: LICENSE,
  };
  const servers = [
    { url: about.url, description: 'The default; a served document names the URL of its installation' },
  ];
  const base = { openapi: '3.1.0', info, servers, tags: tagsOf(about.service, Object.keys(contract)) };
  const document = (await generateOpenApiAsync(contract, base, {
    setOperationId: 'concatenated-path',
    schemaTransformer: async ({ schema, type, concatenatedPath }) =>
      jsonSchemaOf(
        schema,
        type === 'response' ? 'output' : 'input',
        // completeOperation describes parameters: `error` in a query is not the field of an answer.
        type === 'query' ? null : concatenatedPath,
      ),
    operationMapper: (operation, route) =>
      completeOperation(operation as unknown as Json, route, about.service) as never,
  })) as unknown as Json;
  const generated = document.components as { schemas: Json };
  const all = { ...generated.schemas, ...about.schemas };
  const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
  const responses = shareResponses(document.paths as Json);
  const components = { ...COMPONENTS, responses, schemas: sorted };
  const whole = { ...document, ...(about.webhooks ? { webhooks: about.webhooks } : {}) };
  return `${JSON.stringify({ ...whole, components: usedComponents(whole, components) }, null, 2)}\n`;
}
