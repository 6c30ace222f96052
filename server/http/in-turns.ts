import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** The requests of one connection. */
interface Line {
  /** A request is being answered, or the next one is about to start. */
  isBusy: boolean;
  /** The one that is being answered. */
  begun: { request: IncomingMessage; response: ServerResponse } | null;
  waiting: { request: IncomingMessage; response: ServerResponse }[];
  /** No later request is answered: the connection ends after the requests already accepted. */
  isEnding: boolean;
}

const LINE = Symbol('line');
type LinedSocket = Socket & { [LINE]?: Line };

/** About as many ordinary requests as one read of a socket (64 kB) holds; pipelining clients send a few. */
export const PIPELINED_MAX = 128;
/** Statuses for callers that may not call, or call too often: requests pipelined behind one are dropped. */
const REFUSALS: readonly number[] = [401, 403, 429];

/**
 * Serves the requests of a connection one after another, in order. Node hands over all requests from one read
 * of the socket, possibly thousands, in one turn of the event loop, and every other client would wait for the
 * last one. So each one after the first gets its own turn, and a connection with more than {@link
 * PIPELINED_MAX} unanswered requests ends after these: HTTP allows the server to close, and the client to
 * repeat the others.
 * A request without others on its connection is served immediately.
 */
export function inTurns(serve: Serve): Serve {
  const begin = (line: Line, request: IncomingMessage, response: ServerResponse): void => {
    line.isBusy = true;
    line.begun = { request, response };
    response.once('close', () => {
      line.begun = null;
      if (line.waiting.length === 0) line.isBusy = false;
      else setImmediate(next, line, request.socket);
    });
    serve(request, response);
  };
  const next = (line: Line, socket: Socket): void => {
    // The previous answer was the last of the connection, or the client is gone.
    if (!socket.writable) line.waiting.length = 0;
    const first = line.waiting.shift();
    if (first === undefined) {
      line.isBusy = false;
      return;
    }
    if (line.isEnding && line.waiting.length === 0) first.response.shouldKeepAlive = false;
    begin(line, first.request, first.response);
  };
  return (request, response) => {
    const socket: LinedSocket = request.socket;
    socket[LINE] ??= { isBusy: false, begun: null, waiting: [], isEnding: false };
    const line = socket[LINE];
    if (line.isEnding) return;
    if (!line.isBusy) {
      begin(line, request, response);
      return;
    }
    // Waiting requests are complete: only the one after them has data left to read.
    if (line.waiting.length < PIPELINED_MAX) line.waiting.push({ request, response });
    else endLine(line, socket);
  };
}

/** Whether a request of this connection is not fully answered yet. */
export function owesAnswer(socket: Socket): boolean {
  return (socket as LinedSocket)[LINE]?.isBusy === true;
}

/**
 * Ends a connection on which something came that is no HTTP, behind the answers to the requests before it: they were read
 * whole, and are served. False when none is owed, or when the body of the last one is what is no HTTP.
 */
export function endBehindAnswers(socket: Socket): boolean {
  const line = (socket as LinedSocket)[LINE];
  const last = line?.waiting.at(-1) ?? line?.begun;
  if (!line?.isBusy || !last?.request.complete) return false;
  // The parser fails again with each further piece.
  if (line.isEnding) return true;
  line.isEnding = true;
  last.response.shouldKeepAlive = false;
  last.response.once('finish', () => socket.destroySoon());
  return true;
}

/**
 * Must be called before an answer's headers are written: if more requests wait on the connection, a refusal
 * is its last answer, and they are dropped.
 */
export function endAtRefusal({ socket }: IncomingMessage, response: ServerResponse, status: number): void {
  const line = (socket as LinedSocket)[LINE];
  if (line === undefined || line.waiting.length === 0 || !REFUSALS.includes(status)) return;
  line.waiting.length = 0;
  response.shouldKeepAlive = false;
  endLine(line, socket);
}

/**
 * Also stops reading, so that no further requests are parsed. Node resumes a socket after each parsed
 * request.
 */
function endLine(line: Line, socket: Socket): void {
  line.isEnding = true;
  socket.pause();
  socket.on('resume', () => socket.pause());
  closeWithoutTraces(socket);
}

/**
 * At the end of a connection, Node makes an error for each request that was read and not answered. A thousand
 * stack traces would take longer than the requests themselves, so these errors have none.
 */
function closeWithoutTraces(socket: Socket): void {
  let limit = Error.stackTraceLimit;
  socket.prependListener('close', () => {
    limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
  });
  socket.on('close', () => {
    Error.stackTraceLimit = limit;
  });
}
