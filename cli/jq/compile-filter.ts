import { compile } from '@michaelhomer/jqjs';
import { CommandError, UsageError } from '../fault.ts';

/**
 * The filter of `--jq`. An invalid filter throws UsageError before anything is done. The error of a later failure says
 * that the command was done, and with `--json` holds the answer.
 */
export function compileFilter(filter: string): (answer: unknown) => Iterable<unknown> {
  const compiled = tryCompile(filter);
  return (answer) => {
    try {
      // Computed as a whole before anything is printed: half of the output would look like all of it.
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
