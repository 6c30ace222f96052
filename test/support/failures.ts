import path from 'node:path';
import type { EventData } from 'node:test';
import { projectRoot } from './process.ts';

/** The failure of a suite or file that contains a failed test; that test is listed itself. */
const CONTAINS_FAILURE = 'subtestsFailed';
const SHOWN_LINES = 6;

/** Collects the failures of a run. They are printed last, since a long log may keep only its end. */
export interface Failures {
  note(failure: EventData.TestFail): void;
  /** The place, name and first error lines of each failed test. */
  list(): readonly string[];
}

export function createFailures(): Failures {
  const failures: string[] = [];
  return {
    note({ name, file, line, details: { error } }) {
      if ('failureType' in error && error.failureType === CONTAINS_FAILURE) return;
      const place = `${path.relative(projectRoot, file ?? '')}:${line ?? 0}`;
      const cause = error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : error.message;
      const lines = cause.split('\n').filter(Boolean).slice(0, SHOWN_LINES);
      failures.push([`${place}  ${name}`, ...lines.map((text) => `    ${text}`)].join('\n'));
    },
    list: () => failures,
  };
}
