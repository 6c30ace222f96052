import type { Context } from './context.ts';
import { CommandError, EXIT, UsageError } from './fault.ts';

/** The password from the flag or POSTHORN_PASSWORD; otherwise asks for it on the terminal without showing it. */
export async function passwordOf(context: Context, given: string | undefined): Promise<string> {
  const known = given ?? context.env.POSTHORN_PASSWORD;
  if (known) return known;
  if (!context.stdin.isTTY) throw new UsageError('--password or POSTHORN_PASSWORD is required');
  return askHidden(context, 'Password: ');
}

function askHidden({ stdin, signal }: Pick<Context, 'stdin' | 'signal'>, prompt: string): Promise<string> {
  process.stderr.write(prompt);
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  stdin.resume();
  return new Promise((resolve, reject) => {
    let typed = '';
    const finish = (settle: () => void) => {
      stdin.setRawMode(false);
      stdin.pause();
      stdin.off('data', take);
      signal.removeEventListener('abort', leave);
      process.stderr.write('\n');
      settle();
    };
    const leave = () => finish(() => reject(interrupted()));
    const take = (chunk: string) => {
      for (const char of chunk) {
        if (char === '\r' || char === '\n' || char === '\u0004') return finish(() => resolve(typed));
        // In raw mode the terminal does not turn Ctrl-C into a signal.
        if (char === '\u0003') return leave();
        typed = char === '\u007f' || char === '\b' ? typed.slice(0, -1) : typed + char;
      }
    };
    stdin.on('data', take);
    signal.addEventListener('abort', leave);
  });
}

function interrupted(): CommandError {
  return new CommandError('interrupted', { exitCode: EXIT.interrupted });
}
