import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { FileTimes } from './file-times.ts';

/** A longer file gains little by sharing, and would use a processor alone at the end. */
const LONGEST_S = 30;
const GROUP_S = 90;
const FILES_A_GROUP = 24;
const RUN_GROUP = new URL('./run-group.ts', import.meta.url).href;

/** Test files that share a process, and the file that runs them. */
interface Group {
  file: string;
  files: string[];
}

/**
 * Groups shorter files that are neighbours in the list: loading and warming up the server takes longer than many of
 * their tests. Writes a test file for each group into `folder`. Gives the longest first.
 */
export function writeGroups(
  files: readonly string[],
  { folder, times }: { folder: string; times: FileTimes },
): Group[] {
  const groups: { files: string[]; seconds: number }[] = [];
  for (const file of files) {
    const takes = times.secondsOf(file);
    if (takes >= LONGEST_S) continue;
    const last = groups.at(-1);
    if (!last || last.seconds + takes > GROUP_S || last.files.length === FILES_A_GROUP) {
      groups.push({ files: [file], seconds: takes });
    } else {
      last.files.push(file);
      last.seconds += takes;
    }
  }
  const longestFirst = groups.toSorted((one, other) => other.seconds - one.seconds);
  return longestFirst.map(({ files: group }, nth) => {
    const file = path.join(folder, `group-${nth}.test.mjs`);
    writeFileSync(file, `import { runGroup } from '${RUN_GROUP}';\nrunGroup(${JSON.stringify(group)});\n`);
    return { file, files: group };
  });
}
