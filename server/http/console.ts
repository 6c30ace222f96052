import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { apiError } from '@posthorn/contract/api-error.ts';
import { consoleUrl } from '@posthorn/core/platform/console-url.ts';
import type { Request } from 'express';
import { send } from './answer.ts';
import { sendError } from './answer-error.ts';
import type { Call } from './call.ts';
import { type AppDeps, type HttpApp, openCall } from './create-app.ts';
import { routeOutsideContract } from './prepared-route.ts';

export interface ConsoleDeps extends AppDeps {
  /** Where browsers reach this service; a path in it is kept in front. */
  publicUrl: string;
  /** Where they reach the service that bills; the page may ask it too. */
  billingUrl: string;
  /** The built console. `console/build.mjs` writes it to the default place. */
  folder?: URL;
}

/** One file in the encodings that the build made of it. */
interface Asset {
  type: string;
  bytes: Buffer;
  br: Buffer;
  gzip: Buffer;
}

interface BuiltConsole {
  /** With places for the base and the nonce. */
  page: string;
  assets: ReadonlyMap<string, Asset>;
}

const BUILT_FOLDER = new URL('../dist/console/', import.meta.url);
const NOT_BUILT =
  'the console is not built: run `npm ci && npm prune --omit=dev` in the installation; the API needs none';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const NONCE_BYTES = 16;
/** The name of such a file changes with its content. */
const FOR_EVER = 'public, max-age=31536000, immutable';

/**
 * Serves the console under `/console`, and sends a browser there from `/` (ERR-26). Where it was not built, says so in
 * one line of the log and answers 404.
 */
export function serveConsole(app: HttpApp, deps: ConsoleDeps): void {
  const built = readConsole(deps.folder ?? BUILT_FOLDER);
  if (!built) deps.log.warn(NOT_BUILT);
  const route = routeOutsideContract(deps, 'console');
  const base = consoleUrl(deps.publicUrl).pathname;
  app.express.use((request, response, next) => {
    const isAsked = request.path === '/' ? built !== null : /^\/console(\/|$)/.test(request.path);
    if (!isAsked || !['GET', 'HEAD'].includes(request.method)) return next();
    const call = openCall(deps, request, response, route);
    if (!built) return sendError(deps, call, apiError('NOT_FOUND', { message: NOT_BUILT }));
    if (request.path === '/') return redirect(deps, call, base);
    const name = /^\/console\/assets\/(.+)$/.exec(request.path)?.[1];
    if (name === undefined) return sendPage(deps, call, built.page.replace('__BASE__', `${base}/`));
    const asset = built.assets.get(name);
    if (asset) sendAsset(deps, call, asset, request);
    else sendError(deps, call, apiError('NOT_FOUND'));
  });
}

function readConsole(folder: URL): BuiltConsole | null {
  const assets = new URL('assets/', folder);
  try {
    const page = readFileSync(new URL('index.html', folder), 'utf8');
    const names = readdirSync(assets).filter((name) => !/\.(br|gz)$/.test(name));
    const read = (name: string) => readFileSync(new URL(name, assets));
    return {
      page,
      assets: new Map(
        names.map((name) => [
          name,
          {
            type: TYPES[path.extname(name)] ?? 'application/octet-stream',
            bytes: read(name),
            br: read(`${name}.br`),
            gzip: read(`${name}.gz`),
          },
        ]),
      ),
    };
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw err;
  }
}

function redirect(deps: ConsoleDeps, call: Call, location: string): void {
  call.answerHeaders.location = location;
  send(deps, call, 302, undefined, undefined);
}

/** Every path below `/console` is a page of the console, which itself knows those that there are. */
function sendPage(deps: ConsoleDeps, call: Call, page: string): void {
  const nonce = randomBytes(NONCE_BYTES).toString('base64');
  const billingUrl = new URL(deps.billingUrl);
  Object.assign(call.answerHeaders, {
    'content-security-policy': policyWith(nonce, billingUrl.origin),
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    // The links of mails carry a token.
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  });
  const whole = page.replace('__BILLING__', billingUrl.href).replaceAll('__NONCE__', nonce);
  send(deps, call, 200, whole, 'text/html; charset=utf-8');
}

/** Scripts are files of this service alone; styles may also be written by the page, which knows the nonce. */
function policyWith(nonce: string, billing: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "font-src 'self'",
    `connect-src 'self' ${billing}`,
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function sendAsset(deps: ConsoleDeps, call: Call, asset: Asset, { headers }: Request): void {
  const accepted = String(headers['accept-encoding'] ?? '');
  const encoding = (['br', 'gzip'] as const).find((name) => new RegExp(`\\b${name}\\b`).test(accepted));
  Object.assign(call.answerHeaders, { 'cache-control': FOR_EVER, vary: 'Origin, Accept-Encoding' });
  if (encoding) call.answerHeaders['content-encoding'] = encoding;
  send(deps, call, 200, asset[encoding ?? 'bytes'], asset.type);
}
