import { defineCommand, integer, list, text, toggle } from '../../command.ts';
import type { Context } from '../../context.ts';
import { CommandError, UsageError } from '../../fault.ts';
import { pairOnTerminal } from './pairing.ts';
import { parseSettings } from './settings.ts';
import { shownInstance } from './shown.ts';

export const createInstance = defineCommand({
  name: 'instances create',
  endpoints: ['instances.create'],
  summary: 'Create an instance',
  details:
    'Other commands then use this instance unless they name one. On a terminal, --wait draws the QR code, unless the instance pairs by itself.',
  args: { title: text('name', 'its name, 3 to 80 characters') },
  flags: {
    name: text('name', 'the same, as a flag'),
    driver: text('driver', 'the driver; default that of the installation'),
    proxy: text('address', 'a proxy to the network: http:// or socks5://user:password@host:port'),
    set: list('name=value', 'a setting, e.g. humanize_enabled=false; may be repeated'),
    connect: toggle('connect it at once'),
    wait: toggle('wait until it is connected, after --connect'),
    timeout: integer('seconds', 'how long --wait waits, default 60', { max: 3600 }),
  },
  async run(context, { title, name = title, driver, proxy, set, connect, wait, timeout = 60 }) {
    if (name === undefined) throw new UsageError('the name is missing: msgctl instances create <name>');
    const client = context.client();
    const settings = set.length > 0 ? parseSettings(set) : undefined;
    let instance = await client.instances.create({ body: { name, driver, proxy, settings } });
    const instanceId = instance.id;
    remember(context, instanceId);
    if (connect || wait) instance = await client.instances.connect({ instanceId });
    if (wait) {
      context.out.note(`created ${instanceId}, waiting for the connection`);
      instance = await pairOnTerminal(context, client, instance, timeout * 1000);
    }
    context.out.show(instance, shownInstance(instance));
  },
});

/** A profile that cannot be written, as in a read-only container, must not fail the command: the instance exists. */
function remember({ profile, url, out }: Context, instanceId: string): void {
  try {
    profile.update(url, { instance_id: instanceId });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    out.note(`${error.message}; later commands need --instance ${instanceId}`);
  }
}
