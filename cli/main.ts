import { setTimeout as delay } from 'node:timers/promises';
import { PosthornError } from '@posthorn/sdk/index.ts';
import { CommanderError } from 'commander';
import { createContext, type GlobalOptions } from './context.ts';
import { CommandError, describeFault, EXIT, type Fault, UsageError, usageFault } from './fault.ts';
import { jsonText, printable } from './format.ts';
import { createOutput, type OutputFormat } from './output.ts';
import { createProgram } from './program.ts';
import { renewalsSettled } from './session.ts';
import { VERSION } from './version.ts';

/** How long a renewal of the login may still take when the command is done. */
const RENEWAL_MS = 5_000;

/** Runs one command and ends the process with one of the exit codes of fault.ts. */
export async function main(argv: readonly string[]): Promise<never> {
  const controller = new AbortController();
  let askedAtMs = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // A second Ctrl-C ends the process at once. The launcher passes on a signal that the terminal sends to both
      // processes, so two signals within 300 ms count as one.
      if (controller.signal.aborted && performance.now() - askedAtMs > 300) process.exit(EXIT.interrupted);
      askedAtMs = performance.now();
      controller.abort();
    });
  }
  // Read from argv, because errors of the command line itself are JSON too.
  const isJson = argv.some((word) => /^--(?:json$|csv$|jq$|jq=)/.test(word));
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // `msgctl ... | head` closes the pipe, so nobody reads the rest.
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    process.exit(fail(new CommandError(`cannot write the output: ${error.message}`), isJson));
  });
  // A stderr that cannot be written does not change the outcome.
  process.stderr.on('error', () => undefined);
  const { stdout, stderr, stdin, env } = process;
  let out = createOutput({ stdout, stderr });
  const program = createProgram({
    version: VERSION,
    async contextOf(options: GlobalOptions, commandTree) {
      out = createOutput({ stdout, stderr, ...(await formatOf(options)) });
      return createContext({ options, env, stdin, stdout, out, signal: controller.signal, commandTree });
    },
  });
  let exitCode: number = EXIT.ok;
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) exitCode = ofCommander(error, isJson);
    else if (controller.signal.aborted) exitCode = interrupted(error, isJson);
    else exitCode = fail(error, isJson);
  }
  await Promise.race([renewalsSettled(), delay(RENEWAL_MS)]);
  await out.flush();
  // Idle connections of fetch would keep the process for seconds.
  process.exit(exitCode);
}

/** Compiled before the command runs: an invalid filter must not show only after a send. */
async function formatOf({ json = false, csv = false, jq }: GlobalOptions): Promise<OutputFormat> {
  if (csv && (json || jq !== undefined)) throw new UsageError('--csv goes with neither --json nor --jq');
  if (jq === undefined) return { isJson: json, isCsv: csv };
  const { compileFilter } = await import('./jq/compile-filter.ts');
  return { isJson: true, filter: compileFilter(jq) };
}

/** Help and version have printed already; the rest is a command that was not understood. */
function ofCommander(error: CommanderError, isJson: boolean): number {
  if (error.exitCode === 0) return EXIT.ok;
  // For a group without a command, the library has already printed its help on stderr.
  if (error.code !== 'commander.help') writeFault(usageFault(error.message.replace(/^error: /, '')), isJson);
  return EXIT.usage;
}

function fail(error: unknown, isJson: boolean): number {
  const fault = describeFault(error);
  writeFault(fault, isJson);
  return fault.exitCode;
}

/** Reports a send that may have gone out and a clean-up that failed; the interruption itself needs no message. */
function interrupted(error: unknown, isJson: boolean): number {
  const isTold = error instanceof CommandError && Object.keys(error.fields).length > 0;
  if (isTold || error instanceof PosthornError)
    writeFault({ ...describeFault(error), exitCode: EXIT.interrupted }, isJson);
  return EXIT.interrupted;
}

function oneLine(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .join(' ');
}

/** Writes one line, for a person or with `--json`, `--jq` and `--csv` for a program. */
function writeFault({ exitCode, line, json }: Fault, isJson: boolean): void {
  const text = isJson
    ? jsonText({ error: { ...json, message: oneLine(String(json.message)), exit_code: exitCode } })
    : `msgctl: ${printable(oneLine(line))}`;
  process.stderr.write(`${text}\n`);
}
