import { createInterface } from 'node:readline/promises';
import { CommandError, UsageError } from './fault.ts';

/** Asks before something is destroyed. If nobody can answer, the command needs `--yes`. */
export async function confirm(
  deps: { stdin: NodeJS.ReadStream; stderr: NodeJS.WriteStream; signal: AbortSignal },
  what: string,
): Promise<void> {
  if (!deps.stdin.isTTY) throw new UsageError(`${what}: give --yes to do it without being asked`);
  const prompt = createInterface({ input: deps.stdin, output: deps.stderr });
  // The prompt handles Ctrl-C itself; this passes it on as the usual signal.
  prompt.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    const answer = await prompt.question(`${what}. Go on? [y/N] `, { signal: deps.signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('nothing was done');
  } finally {
    prompt.close();
  }
}
