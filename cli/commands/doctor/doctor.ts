import { defineCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { CommandError, EXIT } from '../../fault.ts';
import { printable } from '../../format.ts';
import type { Finding } from './finding.ts';

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'Check the service, its clock and version, the key, instances, webhooks and the stream',
  details:
    'Prints one line for each check: ok, warning or error, with advice. The exit code is 0 without errors, else that of the first error: 3 not reachable, 4 denied, 6 not ready, 1 otherwise.',
  async run(context) {
    const findings: Finding[] = [];
    const add = (found: readonly Finding[]) => {
      for (const finding of found) {
        findings.push(finding);
        context.out.item(finding, shown(finding));
      }
    };
    await examine(context, add);
    const errors = findings.filter(({ level }) => level === 'error');
    if (errors.length === 0) return;
    const { exitCode = EXIT.failed } = errors[0] as Finding;
    throw new CommandError(`${errors.length} of ${findings.length} checks failed`, { exitCode });
  },
});

async function examine(context: Context, add: (found: readonly Finding[]) => void): Promise<void> {
  const checks = await import('./checks.ts');
  const service = await checks.checkService(context);
  add(service);
  if (service[0]?.level === 'error') return;
  const { findings, client } = await checks.checkKey(context);
  add(findings);
  if (!client) return;
  add(await checks.checkInstances(client));
  add(await checks.checkWebhooks(client));
  add([await checks.checkStream(client, context.signal)]);
}

function shown({ check, level, says, todo }: Finding): string {
  const line = `${level.padEnd(7)}  ${check.padEnd(9)}  ${printable(says)}`;
  return todo ? `${line}\n${' '.repeat(20)}${printable(todo)}` : line;
}
