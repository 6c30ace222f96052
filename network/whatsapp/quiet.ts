/**
 * The signal library writes whole sessions to the console when it closes one, private keys among them, and a line for
 * each message that it cannot read. None of it belongs into a log, and it has no switch for that. Its lines are known by
 * how they begin; everybody else's pass.
 */
const ITS_LINES = [
  'Closing session:',
  'Opening session:',
  'Removing old closed session:',
  'Session already ',
  'Migrating session to:',
  'V1 session storage migration error',
  'Closing open session in favor of incoming prekey bundle',
  'Failed to decrypt message with any known session',
  'Session error:',
  'Decrypted message with closed session',
  'Unhandled bucket type',
];
const LEVELS = ['info', 'warn', 'error'] as const;
const IS_QUIET = Symbol.for('posthorn.whatsapp.quiet');

/** Takes those lines from the console of this process; more than once is once. */
export function quietSignal(target: Console & { [IS_QUIET]?: true } = console): void {
  if (target[IS_QUIET]) return;
  target[IS_QUIET] = true;
  for (const level of LEVELS) {
    const write = target[level].bind(target);
    target[level] = (...said: unknown[]) => {
      const [first] = said;
      if (typeof first === 'string' && ITS_LINES.some((line) => first.startsWith(line))) return;
      write(...said);
    };
  }
}
