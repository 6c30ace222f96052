import { type Client, createClient, createSession } from '@posthorn/sdk/index.ts';
import { type ConsoleServer, ROOT_EMAIL } from './console-server.ts';
import { PASSWORD } from './person.ts';

/** The superadmin, who chooses a password by the mailed link. */
export async function enterAsRoot(server: ConsoleServer): Promise<Client> {
  const stranger = createClient({ baseUrl: server.url });
  await stranger.auth.forgotPassword({ body: { email: ROOT_EMAIL } });
  const token = /token=(\S+)/.exec((await server.mailTo(ROOT_EMAIL, /token=/)).text)?.[1] ?? '';
  await stranger.auth.resetPassword({ body: { token, password: PASSWORD } });
  const session = createSession({ baseUrl: server.url });
  await session.login({ email: ROOT_EMAIL, password: PASSWORD });
  return createClient({ baseUrl: server.url, session });
}
