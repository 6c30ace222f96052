import { PosthornError } from '@posthorn/sdk/index.ts';

/** The command was not written or cannot be meant as it is: exit code 2. */
export class UsageError extends Error {}

/** It was understood and did not come about, with no fault of the API: exit code 1. */
export class CommandError extends Error {}

export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130 } as const;

/** The exit code and the one line for stderr of whatever a command ended with. */
export function describeFault(error: unknown): { exitCode: number; line: string } {
  if (error instanceof UsageError) return { exitCode: EXIT.usage, line: error.message };
  if (error instanceof CommandError) return { exitCode: EXIT.failed, line: error.message };
  if (error instanceof PosthornError) {
    const isUnreachable = error.code === 'NETWORK' || error.code === 'TIMEOUT';
    const trace = error.traceId ? ` (trace ${error.traceId})` : '';
    const wait =
      error.retryAfterMs === null ? '' : `, try again in ${Math.ceil(error.retryAfterMs / 1000)} s`;
    return {
      exitCode: isUnreachable ? EXIT.unreachable : EXIT.failed,
      line: `${error.code}: ${error.message}${wait}${trace}`,
    };
  }
  return { exitCode: EXIT.failed, line: error instanceof Error ? error.message : String(error) };
}
