import { PosthornError } from '@posthorn/sdk/index.ts';
import { defineCommand } from '../command.ts';
import { CommandError } from '../fault.ts';
import { fields } from '../format.ts';

export const health = defineCommand({
  name: 'health',
  endpoints: ['health.health', 'health.ready'],
  summary: 'Check whether the service is alive and ready',
  details: 'The exit code is 1 if the service is alive but not ready, and 3 if it cannot be reached.',
  async run(context) {
    const client = context.anonymous();
    await client.health.health({}, { retries: 0 });
    const readiness = await client.health.ready({}, { retries: 0 }).catch((error: unknown) => {
      // A 503 is a valid answer here: it names the failed checks.
      if (error instanceof PosthornError && error.status === 503 && error.fields.checks) {
        return error.fields as { status: string; service: string; checks: Record<string, string> };
      }
      throw error;
    });
    const { status, service, checks } = readiness;
    context.out.show(
      { url: context.url, ...readiness },
      fields({ url: context.url, service, status, ...checks }),
    );
    if (status !== 'ready') throw new CommandError('the service is not ready');
  },
});
