const OF_SLOW_MACHINE =
  /declared workers dead|Query read timeout|when trying to connect|due to connection timeout|locks (is )?lost/;

/**
 * Whether a line of the log is one of those that a very slow machine causes: a database that did not answer in time,
 * and a worker that was killed.
 */
export function isOfSlowMachine(line: string): boolean {
  return OF_SLOW_MACHINE.test(line);
}
