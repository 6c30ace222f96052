import { buffer } from 'node:stream/consumers';
import type { Context } from './context.ts';
import { UsageError } from './fault.ts';

/** What was piped in. UsageError on a terminal, where nothing would come. */
export async function readStdin(context: Pick<Context, 'stdin'>): Promise<Buffer> {
  if (context.stdin.isTTY) throw new UsageError('- reads from a pipe, and there is none');
  return buffer(context.stdin);
}

/** The text, or for `-` what was piped in, without the line end that echo adds. */
export async function textOrStdin(context: Pick<Context, 'stdin'>, given: string): Promise<string> {
  return given === '-' ? (await readStdin(context)).toString('utf8').replace(/\r?\n$/, '') : given;
}
