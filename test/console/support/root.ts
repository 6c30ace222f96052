import { type Client, createClient, createSession, PosthornError } from '@posthorn/sdk/index.ts';
import { type ConsoleServer, ROOT_EMAIL } from './console-server.ts';
import { PASSWORD } from './person.ts';

/** The superadmin, who chooses a password by the mailed link the first time. */
export async function enterAsRoot(server: ConsoleServer): Promise<Client> {
  const session = createSession({ baseUrl: server.url });
  const entered = await session.login({ email: ROOT_EMAIL, password: PASSWORD }).catch((err) => {
    if (err instanceof PosthornError && err.code === 'INVALID_CREDENTIALS') return null;
    throw err;
  });
  if (!entered) await choosePassword(server, session);
  return createClient({ baseUrl: server.url, session });
}

async function choosePassword(
  server: ConsoleServer,
  session: ReturnType<typeof createSession>,
): Promise<void> {
  const stranger = createClient({ baseUrl: server.url });
  await stranger.auth.forgotPassword({ body: { email: ROOT_EMAIL } });
  const token = /token=(\S+)/.exec((await server.mailTo(ROOT_EMAIL, /token=/)).text)?.[1] ?? '';
  await stranger.auth.resetPassword({ body: { token, password: PASSWORD } });
  await session.login({ email: ROOT_EMAIL, password: PASSWORD });
}
