/** A real OpenID provider as a process of its own. The login name is the account: base64url JSON of its claims. */
import { type AdapterPayload, Provider } from 'oidc-provider';

const port = Number(process.env.PORT);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'posthorn',
      client_secret: 'the secret of the client',
      redirect_uris: [process.env.REDIRECT_URI!],
      token_endpoint_auth_method: 'client_secret_post',
    } as AdapterPayload & { client_id: string },
  ],
  // Google puts the e-mail into the ID token; other providers give it only to a request to userinfo.
  conformIdTokenClaims: process.env.CLAIMS_BY_USERINFO === 'true',
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  pkce: { required: () => true },
  cookies: { keys: ['only for tests'] },
  findAccount: async (_context, id) => ({
    accountId: id,
    claims: async () => {
      const { sub: _sub, ...claims } = JSON.parse(Buffer.from(id, 'base64url').toString());
      return { sub: id, ...claims };
    },
  }),
});
provider.listen(port, '127.0.0.1', () => console.log('ready'));
