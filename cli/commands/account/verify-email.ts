import { defineCommand, required, text } from '../../command.ts';
import { sessionOf } from '../../session.ts';

export const verifyEmail = defineCommand({
  name: 'verify-email',
  endpoints: ['auth.verifyEmail'],
  summary: 'Enter the code from the verification e-mail',
  args: { code: required(text('code', 'six digits')) },
  async run(context, { code }) {
    let headers = new Headers();
    const answer = await context
      .session()
      .auth.verifyEmail({ body: { code } }, { onResponse: (response) => (headers = response.headers) });
    context.profile.update(context.url, { session: sessionOf(answer, headers) });
    const { token: _, ...shown } = answer;
    context.out.show(shown, `${answer.email} is verified`);
  },
});
