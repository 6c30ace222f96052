import { defineCommand, integer, toggle } from '../../command.ts';
import { namedInstance } from './named.ts';
import { pairOnTerminal } from './pairing.ts';
import { shownInstance } from './shown.ts';

export const connectInstance = defineCommand({
  name: 'instances connect',
  endpoints: ['instances.connect'],
  summary: 'Connect an instance; pairs it when it never was',
  args: namedInstance,
  flags: {
    wait: toggle('wait until it is connected'),
    timeout: integer('seconds', 'how long --wait waits, default 60', { max: 3600 }),
  },
  async run(context, { which, wait, timeout = 60 }) {
    const client = context.client();
    const instanceId = await context.instanceId(which);
    let instance = await client.instances.connect({ instanceId });
    if (wait) instance = await pairOnTerminal(context, client, instance, timeout * 1000);
    context.out.show(instance, shownInstance(instance));
  },
});

export const disconnectInstance = move('disconnect', 'Disconnect an instance, keeping its pairing');
export const restartInstance = move('restart', 'Disconnect an instance and connect it again');
export const logoutInstance = move('logout', 'End the pairing of an instance, keeping its settings');

function move(action: 'disconnect' | 'restart' | 'logout', summary: string) {
  return defineCommand({
    name: `instances ${action}`,
    endpoints: [`instances.${action}`],
    summary,
    ...(action === 'logout' ? { destroys: 'This ends the pairing of the instance' } : {}),
    args: namedInstance,
    async run(context, { which }) {
      const instance = await context
        .client()
        .instances[action]({ instanceId: await context.instanceId(which) });
      context.out.show(instance, shownInstance(instance));
    },
  });
}
