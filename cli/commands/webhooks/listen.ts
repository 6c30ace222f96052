import { defineCommand, integer, list, many, text, toggle } from '../../command.ts';
import { eventInstance } from '../events/filter.ts';
import { startReceiver } from './receiver.ts';

export const listen = defineCommand({
  name: 'webhooks listen',
  summary: 'Receive deliveries here, print and verify them, until Ctrl-C',
  details:
    'Checks signatures with --secret. With --register it creates a webhook to itself and deletes it at the end, which works where the service may deliver to this machine, as in standalone.',
  flags: {
    port: integer('port', 'default 9000', { min: 0, max: 65_535 }),
    host: text('address', 'default 127.0.0.1'),
    secret: many('secret', 'whsec_...; may be repeated while one is being replaced'),
    register: toggle('create the webhook, and delete it at the end'),
    events: list('types', 'with --register: names or patterns, default all'),
    status: integer('code', 'answer with this status, to see retries', { min: 200, max: 599 }),
    count: integer('n', 'end after so many'),
  },
  async run(context, { port = 9000, host = '127.0.0.1', secret, register, events, status = 200, count }) {
    const { out, signal } = context;
    const secrets = [...secret];
    const receiver = await startReceiver({ out }, { host, port, secrets, status, count: count ?? null });
    let webhookId: number | null = null;
    try {
      if (register) {
        const made = await context.client().webhooks.create({
          body: {
            url: receiver.url,
            ...(events.length > 0 ? { events } : {}),
            instance_id: await eventInstance(context),
          },
        });
        webhookId = made.id;
        secrets.push(made.secret);
      }
      out.note(`listening on ${receiver.url}${secrets.length > 0 ? '' : ', signatures are not checked'}`);
      await receiver.done(signal);
    } finally {
      await receiver.close();
      if (webhookId !== null) await context.client().webhooks.remove({ webhookId });
    }
  },
});
