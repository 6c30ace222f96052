import { StartError } from './run-main.ts';

/**
 * For the `catch` of a server that could not listen: throws a StartError that names the setting to change, or the error as it is
 * when it says something else.
 */
export function listenFault(
  at: { host: string; port: number },
  settings: { host: string; port: string },
): (err: unknown) => never {
  return (err) => {
    const { code } = err as NodeJS.ErrnoException;
    const told: Record<string, string> = {
      EADDRINUSE: `port ${at.port} is in use: stop what listens there, or set ${settings.port} to another one`,
      EACCES: `${settings.port}: this user may not listen on port ${at.port}: set it to 1024 or more`,
      EADDRNOTAVAIL: `${settings.host}: ${at.host} is no address of this machine`,
      ENOTFOUND: `${settings.host}: ${at.host} leads to no address`,
      EAI_AGAIN: `${settings.host}: ${at.host} cannot be looked up`,
    };
    const message = told[code ?? ''];
    throw message === undefined ? err : new StartError(message, { cause: err });
  };
}
