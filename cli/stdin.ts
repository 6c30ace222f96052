import { isUtf8 } from 'node:buffer';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Context } from './context.ts';
import { UsageError } from './fault.ts';

/**
 * The bytes from the pipe. Throws UsageError on a terminal, where none would come. Ctrl-C rejects it: the programs
 * earlier in the pipe end too, and their unfinished output must not pass for the whole.
 */
export async function readStdin(context: Pick<Context, 'stdin' | 'signal'>): Promise<Buffer> {
  if (context.stdin.isTTY) throw new UsageError('- reads from a pipe, but there is none');
  const whole = await buffer(addAbortSignal(context.signal, context.stdin));
  context.signal.throwIfAborted();
  return whole;
}

/**
 * The text from the pipe. Throws UsageError for one in another encoding, whose letters would be sent as replacement
 * characters.
 */
export async function readStdinText(context: Pick<Context, 'stdin' | 'signal'>): Promise<string> {
  const bytes = await readStdin(context);
  if (!isUtf8(bytes)) throw new UsageError('the text from the pipe is not UTF-8');
  return new TextDecoder().decode(bytes);
}

/** The text itself, or for `-` the text from the pipe, without the line end that echo adds. */
export async function textOrStdin(
  context: Pick<Context, 'stdin' | 'signal'>,
  given: string,
): Promise<string> {
  return given === '-' ? (await readStdinText(context)).replace(/\r?\n$/, '') : given;
}
