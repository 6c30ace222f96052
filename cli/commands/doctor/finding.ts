import { PosthornError } from '@posthorn/sdk/index.ts';
import { CommandError, EXIT } from '../../fault.ts';

/** One line of the doctor's report: the check, its result, and advice. */
export interface Finding {
  check: string;
  level: 'ok' | 'warning' | 'error';
  says: string;
  /** Advice. */
  todo?: string;
  /** The exit code of the command when this check failed. */
  exitCode?: number;
}

export function ok(check: string, says: string): Finding {
  return { check, level: 'ok', says };
}

export function warning(check: string, says: string, todo: string): Finding {
  return { check, level: 'warning', says, todo };
}

export function failure(check: string, says: string, todo: string, exitCode: number = EXIT.failed): Finding {
  return { check, level: 'error', says, todo, exitCode };
}

/** The finding for a failed call, with advice by the kind of the error. */
export function failureOf(check: string, error: unknown): Finding {
  if (!(error instanceof PosthornError)) {
    const exitCode = error instanceof CommandError ? error.exitCode : EXIT.failed;
    return failure(check, error instanceof Error ? error.message : String(error), '', exitCode);
  }
  const says = `${error.code}: ${error.message}`;
  if (error.code === 'NETWORK' || error.code === 'TIMEOUT')
    return failure(
      check,
      says,
      'is it running, and is --url right? npm start runs one here',
      EXIT.unreachable,
    );
  if (error.code === 'BAD_RESPONSE')
    return failure(check, says, 'something else answers at this address: look at --url and at proxies');
  if (error.status === 401)
    return failure(
      check,
      says,
      'the key or login does not count: msgctl login, or another --key',
      EXIT.denied,
    );
  if (error.status === 403)
    return failure(
      check,
      says,
      'the account may not: its role, its plan or its company forbids it',
      EXIT.denied,
    );
  if (error.status === 429) return warning(check, says, 'too many requests: look again in a minute');
  const trace = error.traceId ? `, trace ${error.traceId} in its log` : '';
  return failure(check, says, `look into the log of the service${trace}`);
}
