import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { generateOpenApiAsync } from '@ts-rest/open-api';
import { COMPONENTS, TAGS } from './components.ts';
import { describeDeliveries } from './event-webhooks.ts';
import { type Json, jsonSchemaOf } from './json-schema.ts';
import { completeOperation } from './operation.ts';
import manifest from './package.json' with { type: 'json' };
import { shareResponses } from './share-responses.ts';

const INFO = {
  title: 'Posthorn messaging API',
  version: manifest.version,
  description:
    'Multi-tenant messaging: connect instances, send messages, receive events. Sends answer 202 and are reported by events. Errors have one shape, Error, with a stable error_code.',
  license: { name: 'MIT', identifier: 'MIT' },
};

/** The OpenAPI 3.1 document of the messaging service, as the text of the committed file. */
export async function messagingDocument(): Promise<string> {
  const base = { openapi: '3.1.0', info: INFO, servers: [{ url: 'http://localhost:8080' }], tags: TAGS };
  const document = (await generateOpenApiAsync(messagingContract, base, {
    setOperationId: 'concatenated-path',
    schemaTransformer: async ({ schema, type }) =>
      jsonSchemaOf(schema, type === 'response' ? 'output' : 'input'),
    operationMapper: (operation, route) => completeOperation(operation as unknown as Json, route) as never,
  })) as unknown as Json;
  const { webhooks, schemas } = describeDeliveries();
  const generated = document.components as { schemas: Json };
  const all = { ...generated.schemas, ...schemas };
  const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
  const responses = shareResponses(document.paths as Json);
  const whole = { ...document, webhooks, components: { ...COMPONENTS, responses, schemas: sorted } };
  return `${JSON.stringify(whole, null, 2)}\n`;
}
