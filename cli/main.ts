import { CommanderError } from 'commander';
import { createContext, type GlobalOptions } from './context.ts';
import { describeFault, EXIT } from './fault.ts';
import { printable } from './format.ts';
import { createOutput } from './output.ts';
import packageJson from './package.json' with { type: 'json' };
import { createProgram } from './program.ts';

/** Runs one command and ends the process: 0 done, 1 refused, 2 not understood, 3 not reached. */
export async function main(argv: readonly string[]): Promise<never> {
  const controller = new AbortController();
  let askedAtMs = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // The second time it need not be polite. The launcher passes on what the terminal sends to both of
      // us: twice at once is once.
      if (controller.signal.aborted && performance.now() - askedAtMs > 300) process.exit(EXIT.interrupted);
      askedAtMs = performance.now();
      controller.abort();
    });
  }
  // `msgctl ... | head` closes the pipe: there is nobody left to tell anything.
  process.stdout.on('error', () => process.exit(EXIT.ok));
  const { stdout, stderr, stdin, env } = process;
  let out = createOutput({ stdout, stderr, isJson: false });
  const program = createProgram({
    version: packageJson.version,
    contextOf(options: GlobalOptions) {
      out = createOutput({ stdout, stderr, isJson: options.json ?? false });
      return createContext({ options, env, stdin, out, signal: controller.signal });
    },
  });
  let exitCode: number = EXIT.ok;
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) exitCode = ofCommander(error);
    else if (controller.signal.aborted) exitCode = EXIT.interrupted;
    else exitCode = fail(error);
  }
  await out.flush();
  // Idle connections of fetch would keep the process for seconds.
  process.exit(exitCode);
}

/** Help and version have printed already; the rest is a command that was not understood. */
function ofCommander(error: CommanderError): number {
  if (error.exitCode === 0) return EXIT.ok;
  // Help that nobody asked for: a group without its command. It stands on stderr.
  if (error.code !== 'commander.help') writeFault(error.message.replace(/^error: /, ''));
  return EXIT.usage;
}

function fail(error: unknown): number {
  const { exitCode, line } = describeFault(error);
  writeFault(line);
  return exitCode;
}

function oneLine(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .join(' ');
}

function writeFault(line: string): void {
  process.stderr.write(`msgctl: ${printable(oneLine(line))}\n`);
}
