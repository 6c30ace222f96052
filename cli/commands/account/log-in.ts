import type { Session } from '@posthorn/sdk/index.ts';
import type { Context } from '../../context.ts';
import { sessionOf } from '../../session.ts';

/** Logs in and remembers the login. A key of another company is forgotten, since it would act for that company. */
export async function logIn(
  context: Context,
  credentials: { email: string; password: string },
): Promise<Session> {
  let headers = new Headers();
  const answer = await context
    .anonymous()
    .auth.login({ body: credentials }, { onResponse: (response) => (headers = response.headers) });
  const isSame = context.profile.account(context.url).company_id === answer.company_id;
  context.profile.update(
    context.url,
    {
      session: sessionOf(answer, headers),
      company_id: answer.company_id,
      email: answer.email,
      ...(isSame ? {} : { api_key: undefined, instance_id: undefined }),
    },
    { isDefault: true },
  );
  return answer;
}
