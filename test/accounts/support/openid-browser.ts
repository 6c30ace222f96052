import assert from 'node:assert/strict';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort, projectRoot, startProcess } from '../../support/process.ts';

export interface OpenIdProvider {
  issuer: string;
  /** Goes through login and consent like a person, and returns the address to which the browser is sent back. */
  authorize(
    url: string,
    claims: { sub: string; email?: string; email_verified?: boolean; name?: string },
  ): Promise<URL>;
  stop(): Promise<void>;
}

export const CALLBACK_BASE = 'https://api.example.test';

/** Starts the provider (openid-provider-main.ts) and a person in front of it. */
export async function startOpenIdProvider(
  options: { claimsByUserinfo?: boolean; timeOffMs?: number } = {},
): Promise<OpenIdProvider> {
  const port = await freePort();
  const process = await startProcess({
    entry: 'test/accounts/support/openid-provider-main.ts',
    env: {
      PORT: String(port),
      REDIRECT_URI: `${CALLBACK_BASE}/v1/auth/oauth/google/callback`,
      CLAIMS_BY_USERINFO: String(options.claimsByUserinfo ?? false),
      ...(options.timeOffMs && {
        TIME_OFF_MS: String(options.timeOffMs),
        NODE_OPTIONS: `--import ${pathToFileURL(path.join(projectRoot, 'test/support/skewed-time.mjs'))}`,
      }),
    },
    ready: { line: /ready/ },
  });
  return {
    issuer: `http://127.0.0.1:${port}`,
    authorize: (url, claims) => walkThrough(url, Buffer.from(JSON.stringify(claims)).toString('base64url')),
    stop: async () => {
      await process.kill('SIGTERM');
    },
  };
}

/** A minimal browser: follows redirects, keeps cookies, fills in the forms. */
async function walkThrough(start: string, login: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  let form: URLSearchParams | null = null;
  for (let steps = 0; steps < 20; steps++) {
    if (url.startsWith(CALLBACK_BASE)) return new URL(url);
    const response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      body: form,
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value) cookies.set(name!, value);
      else cookies.delete(name!);
    }
    form = null;
    const location = response.headers.get('location');
    if (location) {
      url = new URL(location, url).href;
      continue;
    }
    const html = await response.text();
    assert.equal(response.status, 200, html);
    const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1];
    assert.ok(prompt, html);
    url = new URL(/<form[^>]* action="([^"]+)"/.exec(html)?.[1] ?? '', url).href;
    form = new URLSearchParams(prompt === 'login' ? { prompt, login, password: 'any' } : { prompt });
  }
  throw new Error('the provider never came to an end');
}
