import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { projectRoot } from './process.ts';

/** Seconds that each slow test file took on a whole run; files that are not named take less than `SLOW_S`. */
const RECORDED = path.join(projectRoot, 'test/support/file-seconds.json');
const SLOW_S = 5;
/** About the time of a file that is not recorded. */
const UNNAMED_S = 2;
const SHOWN = 10;

type Seconds = Record<string, number>;

/** How long the files of a run take, and the order to run them in. */
export interface FileTimes {
  note(file: string, ms: number): void;
  /** About the time that it took in the last run. */
  secondsOf(file: string): number;
  /** The files in the order in which a run of several at once ends soonest: the longest first. */
  longestFirst(files: readonly string[]): string[];
  /** The slowest files of this run, a line each. */
  slowest(): string[];
  /** Keeps the times of this run for the next ones, and the times of files that did not run. */
  record(): void;
}

export function createFileTimes(): FileTimes {
  const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as Seconds;
  const taken = new Map<string, number>();
  const nameOf = (file: string) => path.relative(projectRoot, path.resolve(projectRoot, file));
  const secondsOf = (file: string) => recorded[nameOf(file)] ?? UNNAMED_S;
  return {
    note: (file, ms) => void taken.set(nameOf(file), Math.round(ms / 100) / 10),
    secondsOf,
    longestFirst: (files) => files.toSorted((one, other) => secondsOf(other) - secondsOf(one)),
    slowest: () =>
      bySeconds(taken)
        .slice(0, SHOWN)
        .map(([name, seconds]) => `${seconds.toFixed(1).padStart(7)} s  ${name}`),
    record() {
      const others = Object.entries(recorded).filter(
        ([name]) => !taken.has(name) && existsSync(path.join(projectRoot, name)),
      );
      const slow = bySeconds(new Map([...others, ...taken])).filter(([, seconds]) => seconds >= SLOW_S);
      writeFileSync(RECORDED, `${JSON.stringify(Object.fromEntries(slow), null, 2)}\n`);
    },
  };
}

function bySeconds(taken: ReadonlyMap<string, number>): [name: string, seconds: number][] {
  return [...taken].sort(([, one], [, other]) => other - one);
}
