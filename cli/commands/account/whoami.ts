import { defineCommand } from '../../command.ts';
import { fields } from '../../format.ts';

export const whoami = defineCommand({
  name: 'whoami',
  summary: 'Show the service, the account and the instance that commands use',
  async run(context) {
    const account = context.profile.account(context.url);
    const shown = {
      url: context.url,
      email: account.email ?? null,
      company_id: account.company_id ?? null,
      api_key: account.api_key ? `...${account.api_key.slice(-4)}` : null,
      login: account.session ? 'yes' : 'no',
      instance_id: account.instance_id ?? null,
      profile: context.profile.path,
    };
    context.out.show(shown, fields(shown));
  },
});
