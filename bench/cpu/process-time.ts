import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second. */
const TICK_US = 10_000;

/** CPU time of one process so far, user and system, in microseconds. */
export function cpuTimeUs(pid: number): number {
  const fields = statOf(pid);
  return fields ? (Number(fields[11]) + Number(fields[12])) * TICK_US : 0;
}

/** The same for a process and all its children, including ended ones: a PostgreSQL and its backends. */
export function cpuTimeOfTreeUs(pid: number): number {
  const root = statOf(pid);
  let sum = cpuTimeUs(pid) + (root ? (Number(root[13]) + Number(root[14])) * TICK_US : 0);
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const fields = statOf(Number(entry));
    if (fields && Number(fields[1]) === pid) sum += cpuTimeUs(Number(entry));
  }
  return sum;
}

/** Resident memory of a process. */
export function rssBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/** The fields after the program's name, which may contain blanks: state, parent, ... */
function statOf(pid: number): string[] | null {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return line.slice(line.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
