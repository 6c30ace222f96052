import { defineCommand, required, text } from '../../command.ts';

export const oauthStart = defineCommand({
  name: 'oauth start',
  endpoints: ['oauth.start', 'oauth.callback'],
  summary: 'Print the address to open in a browser to log in with Google or GitHub',
  args: { provider: required(text('provider', 'google or github')) },
  flags: { mode: text('mode', 'login or signup, default login') },
  async run(context, { provider, mode = 'login' }) {
    const url = new URL(`${context.url}/v1/auth/oauth/${encodeURIComponent(provider)}/start`);
    url.searchParams.set('mode', mode);
    context.out.show({ url: url.href }, url.href);
  },
});
