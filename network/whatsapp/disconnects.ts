/** Maps the library's error to the reason why a connection ended. No I/O. */
import type { DisconnectReason } from '@posthorn/core/network/driver.ts';

/** The contents of the library's error. */
export interface Ending {
  message: string;
  statusCode: number | undefined;
  /** From the error of the socket itself. */
  cause: string | undefined;
}

/**
 * `relogin`: the network ends the connection on purpose after a pairing, and expects an immediate new login.
 */
export type EndingRead = { to: 'relogin' } | { to: 'end'; reason: DisconnectReason; error?: string };

const RELOGIN = 515;
const REASONS: Readonly<Record<number, DisconnectReason>> = {
  401: 'logged_out',
  /** Temporary. */
  402: 'hard_paused',
  /** The web app calls it locked, and logs out; it also comes when the phone was changed. */
  403: 'logged_out',
  405: 'version_refused',
  406: 'banned',
  409: 'version_refused',
  440: 'replaced',
};

/** The library reports WebSocket errors, whose codes are those of HTTP and of proxies, with these words. */
const OF_SOCKET = /^WebSocket Error/;
const QR_OVER = /^QR refs attempts ended/;

export function readEnding(ending: Ending | undefined): EndingRead {
  if (!ending) return { to: 'end', reason: 'connection_lost' };
  if (OF_SOCKET.test(ending.message))
    return { to: 'end', reason: 'connection_lost', error: unreachable(ending) };
  const { statusCode = 0 } = ending;
  if (statusCode === RELOGIN) return { to: 'relogin' };
  const reason = REASONS[statusCode];
  if (reason) return { to: 'end', reason };
  // Nobody scanned in time, which is no error: the next session has new codes.
  if (QR_OVER.test(ending.message)) return { to: 'end', reason: 'connection_lost' };
  return { to: 'end', reason: 'connection_lost', error: 'the connection to the WhatsApp network was lost' };
}

/** Codes of sockets and of DNS. The rest of the cause is hidden: it may contain addresses and passwords. */
const CODE = /\b(E[A-Z]{3,20}|[A-Z]{3,12}_[A-Z_]{3,30})\b/;
const STATUS = /\bresponse: (\d{3})\b/;

function unreachable({ message, cause = '' }: Ending): string {
  const code = CODE.exec(cause)?.[1] ?? CODE.exec(message)?.[1];
  const status = STATUS.exec(message)?.[1];
  const why = code ?? (status && `HTTP ${status}`);
  return `the WhatsApp network cannot be reached${why ? ` (${why})` : ''}; it is tried again`;
}

/** Extracts the contents of any error of the library. */
export function endingOf(error: unknown): Ending | undefined {
  if (!(error instanceof Error)) return undefined;
  const { output, data } = error as { output?: { statusCode?: number }; data?: unknown };
  const cause =
    data instanceof Error ? `${(data as { code?: string }).code ?? ''} ${data.message}` : undefined;
  return { message: error.message, statusCode: output?.statusCode, cause };
}
