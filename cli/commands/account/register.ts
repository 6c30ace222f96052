import { defineCommand, required, text } from '../../command.ts';
import { fields } from '../../format.ts';
import { passwordOf } from '../../password.ts';
import { refuseToOverwriteKey } from './keep-key.ts';
import { logIn } from './log-in.ts';

export const register = defineCommand({
  name: 'register',
  endpoints: ['auth.register', 'auth.login'],
  summary: 'Register a company with its owner',
  details: 'Stores the API key and the login in the profile. Asks for the password if --password is missing.',
  flags: {
    company: required(text('name', 'name of the company')),
    email: required(text('email', 'e-mail of the owner')),
    name: required(text('name', 'name of the owner')),
    password: text('password', '12 characters or more (POSTHORN_PASSWORD)'),
  },
  async run(context, { company, email, name, password: given }) {
    refuseToOverwriteKey(context);
    const password = await passwordOf(context, given);
    const made = await context.anonymous().auth.register({
      body: { company_name: company, owner_email: email, owner_name: name, password },
    });
    const { company_id, slug, token: api_key } = made;
    // Shown before it is stored: if the profile cannot be written, the key would be lost.
    context.out.show(made, fields({ company_id, slug, api_key, profile: context.profile.path }));
    context.profile.update(
      context.url,
      { api_key, company_id, email, session: undefined, instance_id: undefined },
      { isDefault: true },
    );
    // Only a logged-in user can enter the code from the e-mail.
    const isLoggedIn = await logIn(context, { email, password }).then(
      () => true,
      () => false,
    );
    if (!made.email_verification_required) return;
    context.out.note(
      `${isLoggedIn ? '' : 'msgctl login, and '}enter the code of the e-mail: msgctl verify-email <code>`,
    );
  },
});
