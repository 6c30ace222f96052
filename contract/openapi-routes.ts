import { z } from 'zod/v4';
import { c } from './route-meta.ts';

/** `GET /openapi.json` and the reference that shows it, the same in both services: their metadata and routes. */

const openApiDocument = z
  .looseObject({
    openapi: z.string().meta({ description: 'The OpenAPI version', examples: ['3.1.0'] }),
    info: z.record(z.string(), z.unknown()).meta({
      description: 'The title and the version of the API',
      examples: [{ title: 'Posthorn messaging API', version: '0.1.0' }],
    }),
    servers: z.array(z.record(z.string(), z.unknown())).meta({
      description: 'The URL of this installation',
      examples: [[{ url: 'https://api.example.com' }]],
    }),
    paths: z.record(z.string(), z.unknown()).meta({ description: 'The endpoints', examples: [{}] }),
  })
  .meta({ id: 'OpenApiDocument' });

const PUBLIC = { auth: 'none', access: 'public' } as const;
const CACHED = 'The answer has an ETag; If-None-Match with it answers 304.';

export const documentMeta = {
  ...PUBLIC,
  summary: 'This API as an OpenAPI document',
  description: `OpenAPI 3.1; the server is this installation. ${CACHED}`,
} as const;
export const documentRoute = {
  method: 'GET',
  path: '/openapi.json',
  responses: { 200: openApiDocument, 304: c.noBody() },
} as const;

export const pageMeta = {
  ...PUBLIC,
  raw: 'text',
  summary: 'The reference of this API as a page',
  description: `The page loads everything from this server. 404 when the page was not built. ${CACHED}`,
  errors: ['NOT_FOUND'],
} as const;
export const pageRoute = {
  method: 'GET',
  path: '/docs',
  responses: { 200: c.otherResponse({ contentType: 'text/html', body: z.string() }), 304: c.noBody() },
} as const;

export const scriptMeta = {
  ...PUBLIC,
  raw: 'text',
  summary: 'The script of the reference',
  description: CACHED,
  errors: ['NOT_FOUND'],
} as const;
export const scriptRoute = {
  method: 'GET',
  path: '/docs/reference.js',
  responses: { 200: c.otherResponse({ contentType: 'text/javascript', body: z.string() }), 304: c.noBody() },
} as const;
