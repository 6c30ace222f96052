import { PosthornError } from '@posthorn/sdk/index.ts';
import { defineCommand } from '../../command.ts';

export const logout = defineCommand({
  name: 'logout',
  endpoints: ['auth.logout'],
  summary: 'End the login and remove this service from the profile',
  details: 'Removes an API key from the profile, but does not revoke it.',
  async run(context) {
    const { session } = context.profile.account(context.url);
    if (session) {
      await context
        .session()
        .auth.logout()
        .catch((error: unknown) => {
          // The login had already ended.
          if (!(error instanceof PosthornError && error.status === 401)) throw error;
        });
    }
    const nothing = { api_key: undefined, session: undefined, company_id: undefined, email: undefined };
    context.profile.update(context.url, { ...nothing, instance_id: undefined });
    context.out.show({ url: context.url }, `logged out of ${context.url}`);
  },
});
