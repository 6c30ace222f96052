/** A terminal with a person in front of it, on which views can be drawn. */
export interface Terminal {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  /** Whether colours may be used; NO_COLOR forbids them. */
  hasColor: boolean;
}

/** Null in a pipe, with `--json`, and on a terminal that cannot move its cursor. */
export function terminalOf(deps: {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream | undefined;
  env: NodeJS.ProcessEnv;
  isJson: boolean;
}): Terminal | null {
  const { stdin, stdout, env, isJson } = deps;
  if (isJson || !stdout?.isTTY || !stdin.isTTY || env.TERM === 'dumb') return null;
  return { stdin, stdout, hasColor: !env.NO_COLOR };
}
