/** The sandbox's log; a pino logger fits. Never logs a body, a phone number or a token. */
export interface SandboxLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const nothing = () => {};

export const silentLog: SandboxLog = { debug: nothing, info: nothing, warn: nothing, error: nothing };
