import { compile } from '@michaelhomer/jqjs';
import { CommandError, UsageError } from '../fault.ts';

/**
 * The filter of `--jq`. UsageError for one that is none, before anything is done; what fails later says that the command
 * was done, and with `--json` what it answered.
 */
export function compileFilter(filter: string): (answer: unknown) => Iterable<unknown> {
  const compiled = tryCompile(filter);
  return (answer) => {
    try {
      // Whole before anything is printed: half of it would look like all.
      return [...compiled(answer)];
    } catch (cause) {
      throw new CommandError(`it was done, and --jq failed on the answer: ${textOf(cause)}`, {
        fields: { code: 'FILTER_FAILED', answer },
      });
    }
  };
}

function tryCompile(filter: string): ReturnType<typeof compile> {
  try {
    return compile(filter);
  } catch (cause) {
    throw new UsageError(`--jq ${filter}: ${textOf(cause)}`);
  }
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
