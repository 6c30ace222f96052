import { defineCommand, required, text } from '../../command.ts';
import { fields } from '../../format.ts';
import { refuseToOverwriteKey } from './keep-key.ts';

export const quickRegister = defineCommand({
  name: 'quick-register',
  endpoints: ['auth.quickRegister'],
  summary: 'Register with only an e-mail address',
  details:
    'The service generates a password, shows it once and mails it. The API key is stored in the profile.',
  flags: { email: required(text('email', 'e-mail of the owner')) },
  async run(context, { email }) {
    refuseToOverwriteKey(context);
    const made = await context.anonymous().auth.quickRegister({ body: { email } });
    const { company_id, api_key, password } = made;
    // Shown before it is stored: if the profile cannot be written, the key would be lost.
    context.out.show(
      made,
      fields({ company_id, email: made.email, password, api_key, profile: context.profile.path }),
    );
    context.profile.update(
      context.url,
      { api_key, company_id, email: made.email, session: undefined, instance_id: undefined },
      { isDefault: true },
    );
  },
});
