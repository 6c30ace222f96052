import { createInterface } from 'node:readline/promises';
import { CommandError, UsageError } from './fault.ts';

/** Asks before something is destroyed. Where nobody can answer, `--yes` has to have been given. */
export async function confirm(
  deps: { stdin: NodeJS.ReadStream; stderr: NodeJS.WriteStream; signal: AbortSignal },
  what: string,
): Promise<void> {
  if (!deps.stdin.isTTY) throw new UsageError(`${what}: give --yes to do it without being asked`);
  const prompt = createInterface({ input: deps.stdin, output: deps.stderr });
  // The prompt keeps Ctrl-C to itself; here it means what it means everywhere.
  prompt.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    const answer = await prompt.question(`${what}. Go on? [y/N] `, { signal: deps.signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('nothing was done');
  } finally {
    prompt.close();
  }
}
