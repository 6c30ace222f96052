import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { openapi } from '@posthorn/contract/messaging/openapi.ts';
import { DAY_MS } from '@posthorn/core/platform/durations.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { HandlerInput } from './call.ts';
import type { Handlers } from './handler.ts';
import { leaveOptionalOut, withTimesAhead } from './reference-samples.ts';

/** A file that is the same for every client, compressed once. */
interface Asset {
  bytes: Buffer;
  gzipped: Buffer;
  tag: string;
}

/** The document to serve, and the URL of this installation. */
export interface ReferenceDeps {
  service: keyof typeof DOCUMENTS;
  publicUrl: string;
  clock: Clock;
  /** Scalar's browser build. `build-reference.mjs` copies it to the default place. */
  scriptFile?: URL;
}

const BUILT_SCRIPT = new URL('../dist/reference.js', import.meta.url);
const NOT_BUILT =
  'the API reference is not built: run `npm ci && npm prune --omit=dev` in the installation, or read /openapi.json';

const SETTINGS = JSON.stringify({
  // No requests to third parties: no fonts, no telemetry, no proxy, no assistant.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
});
/**
 * The token of whoever is signed in to the console, taken up from the cookies: it is in memory alone, as there. Only
 * messaging has sessions.
 */
const TOKEN_OF_SESSION = `async function tokenOfSession() {
  const csrf = /(?:^|;\\s*)svc_csrf_token=([^;]+)/.exec(document.cookie)?.[1];
  if (!csrf) return null;
  const headers = { 'X-CSRF-Token': decodeURIComponent(csrf) };
  const answer = await fetch('v1/auth/refresh', { method: 'POST', headers });
  return answer.ok ? (await answer.json()).token : null;
}`;
const NOBODY = 'async function tokenOfSession() { return null; }';

/** The page's URL may have any prefix; the document is fetched relative to it. */
function startOf(service: keyof typeof DOCUMENTS): string {
  return `${leaveOptionalOut}
${service === 'messaging' ? TOKEN_OF_SESSION : NOBODY}
Promise.all([
  fetch('openapi.json').then((response) => response.json()),
  tokenOfSession().catch(() => null),
]).then(([document, token]) =>
  Scalar.createApiReference('#reference', {
    content: leaveOptionalOut(document),
    ...(token && {
      authentication: { preferredSecurityScheme: 'bearer', securitySchemes: { bearer: { token } } },
    }),
    ...${SETTINGS},
  }));`;
}

/** Serves `GET /openapi.json` and a page that shows it with Scalar, all from this server (ERR-25). */
export function referenceHandlers({
  service,
  publicUrl,
  clock,
  scriptFile = BUILT_SCRIPT,
}: ReferenceDeps): Handlers<typeof openapi> {
  const document = daily(clock, (day) => readDocument(service, publicUrl, day));
  const script = once(async () => assetOf(await readScript(scriptFile)));
  const page = once(async () => {
    await script();
    return assetOf(pageOf(service));
  });
  const policy = policyFor(service, publicUrl);
  return {
    document: async (input) => answer(input, await document(), 'application/json; charset=utf-8'),
    page: async (input) =>
      answer(input, await page(), 'text/html; charset=utf-8', { 'content-security-policy': policy }),
    script: async (input) => answer(input, await script(), 'text/javascript; charset=utf-8'),
  };
}

const DOCUMENTS = {
  messaging: import.meta.resolve('@posthorn/openapi/messaging.json'),
  billing: import.meta.resolve('@posthorn/openapi/billing.json'),
};

/** The committed document, with this installation as its server and with future times in its examples. */
async function readDocument(service: keyof typeof DOCUMENTS, publicUrl: string, day: number): Promise<Asset> {
  const text = withTimesAhead(await readFile(new URL(DOCUMENTS[service]), 'utf8'), day);
  return assetOf(JSON.stringify({ ...JSON.parse(text), servers: [{ url: publicUrl }] }));
}

/** Scalar with everything it needs, in one file. Throws 404 NOT_FOUND where it was not built. */
async function readScript(file: URL): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
    throw apiError('NOT_FOUND', { message: NOT_BUILT, cause: err });
  }
}

function pageOf(service: keyof typeof DOCUMENTS): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Posthorn ${service} API</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="reference"></div>
<script src="docs/reference.js"></script>
<script>${startOf(service)}</script>
</body>
</html>
`;
}

/** Scalar writes styles into the page; requests tried out may go only to this installation. */
function policyFor(service: keyof typeof DOCUMENTS, publicUrl: string): string {
  const start = createHash('sha256').update(startOf(service)).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${start}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    `connect-src 'self' ${new URL(publicUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const compress = promisify(gzip);

async function assetOf(content: string | Buffer): Promise<Asset> {
  const bytes = Buffer.from(content);
  const tag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
  return { bytes, gzipped: await compress(bytes), tag };
}

/** Made at the first request: most processes never get one. A failure is not cached. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((err: unknown) => {
      made = undefined;
      throw err;
    });
    return made;
  };
}

/** Like `once`, but per day since 1970, so that all processes of an installation have the same ETag. */
function daily<T>(clock: Clock, make: (day: number) => Promise<T>): () => Promise<T> {
  let made: { day: number; get: () => Promise<T> } | undefined;
  return () => {
    const day = Math.floor(clock.now().getTime() / DAY_MS);
    if (made?.day !== day) made = { day, get: once(() => make(day)) };
    return made.get();
  };
}

function answer(
  { headers }: Pick<HandlerInput, 'headers'>,
  asset: Asset,
  type: string,
  more: Record<string, string> = {},
): { status: 304 } | { status: 200; body: never } {
  const always = {
    etag: asset.tag,
    // Clients ask each time, and get the file again only if it changed.
    'cache-control': 'private, max-age=0, must-revalidate',
    vary: 'Origin, Accept-Encoding',
    ...more,
  };
  const known = (headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (known.includes(asset.tag)) return { status: 304, headers: always } as { status: 304 };
  const compressed = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
  return {
    status: 200,
    // The bytes of the declared document, made once.
    body: (compressed ? asset.gzipped : asset.bytes) as never,
    headers: { ...always, 'content-type': type, ...(compressed ? { 'content-encoding': 'gzip' } : {}) },
  } as { status: 200; body: never };
}
