import { defineCommand, required, text } from '../../command.ts';
import { fields } from '../../format.ts';
import { passwordOf } from '../../password.ts';
import { logIn } from './log-in.ts';

export const login = defineCommand({
  name: 'login',
  endpoints: ['auth.login', 'auth.refresh'],
  summary: 'Log in with e-mail and password',
  details: 'Stores the login in the profile and renews it. Asks for the password if --password is missing.',
  flags: {
    email: required(text('email', 'e-mail of the user')),
    password: text('password', '(POSTHORN_PASSWORD)'),
  },
  async run(context, { email, password }) {
    const { token: _, ...shown } = await logIn(context, {
      email,
      password: await passwordOf(context, password),
    });
    context.out.show(shown, fields(shown));
  },
});
