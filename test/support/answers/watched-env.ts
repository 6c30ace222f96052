const LOADED_FIRST = new URL('./tell-answers-main.ts', import.meta.url);

/**
 * For the environment of a program on this Node, e.g. msgctl: the test checks what our servers answer to it, too. Empty
 * where nobody would read it, and not for programs whose start is measured.
 */
export function watchedEnv(): Record<string, string> {
  const told = process.env.POSTHORN_TEST_ANSWERS;
  return told ? { POSTHORN_TEST_ANSWERS: told, NODE_OPTIONS: `--import=${LOADED_FIRST.href}` } : {};
}
