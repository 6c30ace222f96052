import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '../../support/listen.ts';

export interface GithubAccount {
  id: number;
  login: string;
  name: string | null;
  emails: { email: string; primary: boolean; verified: boolean }[];
}

/** Speaks GitHub's OAuth and the two calls of its API that we use, PKCE and secrets checked. */
export interface GithubServer {
  url: string;
  apiUrl: string;
  /** The person at the browser agrees: returns the address to which GitHub sends them back. */
  authorize(url: string, account: GithubAccount): URL;
  /** The person refuses. */
  deny(url: string): URL;
  /** Makes the API answer this status, e.g. 500; null: as usual. */
  failWith(status: number | null): void;
  close(): Promise<void>;
}

export const GITHUB_CLIENT = { id: 'gh-client', secret: 'gh-secret' };

export async function startGithub(): Promise<GithubServer> {
  const codes = new Map<string, { account: GithubAccount; challenge: string; redirectUri: string }>();
  const tokens = new Map<string, GithubAccount>();
  let broken: number | null = null;

  const server = createServer(async (request, response) => {
    const answer = (status: number, body: unknown) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (broken !== null) return answer(broken, { message: 'Server Error' });
    if (request.method === 'POST' && request.url === '/login/oauth/access_token')
      return answer(200, exchange(new URLSearchParams(await text(request)), request));
    const account = tokens.get(request.headers.authorization?.replace(/^Bearer /, '') ?? '');
    if (!request.headers['user-agent']) return answer(403, { message: 'a User-Agent is required' });
    if (!account) return answer(401, { message: 'Bad credentials' });
    const { emails, ...user } = account;
    if (request.url === '/api/user') return answer(200, user);
    if (request.url === '/api/user/emails') return answer(200, emails);
    return answer(404, { message: 'Not Found' });
  });

  /** GitHub answers errors with 200 as well. */
  function exchange(form: URLSearchParams, request: IncomingMessage): Record<string, string> {
    const code = form.get('code') ?? '';
    const issued = codes.get(code);
    codes.delete(code);
    if (!request.headers.accept?.includes('application/json')) return { error: 'not_json' };
    if (form.get('client_id') !== GITHUB_CLIENT.id || form.get('client_secret') !== GITHUB_CLIENT.secret)
      return { error: 'incorrect_client_credentials' };
    const verifier = form.get('code_verifier') ?? '';
    if (
      !issued ||
      issued.redirectUri !== form.get('redirect_uri') ||
      issued.challenge !== createHash('sha256').update(verifier).digest('base64url')
    )
      return { error: 'bad_verification_code' };
    const token = `gho_${randomUUID()}`;
    tokens.set(token, issued.account);
    return { access_token: token, token_type: 'bearer', scope: 'read:user,user:email' };
  }

  const url = `http://127.0.0.1:${await listen(server)}`;

  function back(asked: string, answer: Record<string, string>): URL {
    const { searchParams } = new URL(asked);
    const target = new URL(searchParams.get('redirect_uri')!);
    target.searchParams.set('state', searchParams.get('state')!);
    for (const [name, value] of Object.entries(answer)) target.searchParams.set(name, value);
    return target;
  }

  return {
    url,
    apiUrl: `${url}/api`,
    authorize(asked, account) {
      const { searchParams } = new URL(asked);
      const code = randomUUID();
      codes.set(code, {
        account,
        challenge: searchParams.get('code_challenge') ?? 'none',
        redirectUri: searchParams.get('redirect_uri')!,
      });
      return back(asked, { code });
    },
    deny: (asked) => back(asked, { error: 'access_denied' }),
    failWith: (status) => {
      broken = status;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
