import { defineCommand, integer, required, text, toggle } from '../../command.ts';
import { UsageError } from '../../fault.ts';
import { instanceArg } from './connect.ts';
import { shownInstance } from './shown.ts';
import { waitUntilConnected } from './wait-until-connected.ts';

export const connectCloud = defineCommand({
  name: 'instances connect-cloud',
  endpoints: ['instances.giveCredentials'],
  summary: 'Connect an official number of the WhatsApp Cloud API',
  details:
    'The instance must have the driver whatsapp-cloud. Set the token and the secret in the environment, where no list of processes shows them: POSTHORN_CLOUD_TOKEN and POSTHORN_CLOUD_APP_SECRET.',
  args: { which: instanceArg },
  flags: {
    phoneNumberId: required(text('id', 'id of the number at Meta')),
    businessAccountId: required(text('id', 'id of its WhatsApp Business Account')),
    wait: toggle('wait until it is connected'),
    timeout: integer('seconds', 'how long --wait waits, default 60', { max: 3600 }),
  },
  async run(context, { which, phoneNumberId, businessAccountId, wait, timeout = 60 }) {
    const { POSTHORN_CLOUD_TOKEN: token, POSTHORN_CLOUD_APP_SECRET: secret } = context.env;
    if (!token || !secret)
      throw new UsageError('set POSTHORN_CLOUD_TOKEN and POSTHORN_CLOUD_APP_SECRET in the environment');
    const client = context.client();
    const instanceId = await context.instanceId(which);
    const body = {
      ...{ phone_number_id: phoneNumberId, business_account_id: businessAccountId },
      ...{ access_token: token, app_secret: secret },
    };
    let instance = await client.instances.giveCredentials({ instanceId, body });
    if (wait)
      instance = await waitUntilConnected({ client, signal: context.signal }, instanceId, timeout * 1000);
    context.out.show(instance, shownInstance(instance));
  },
});
