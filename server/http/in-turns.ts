import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** The requests of one connection. */
interface Line {
  /** One is being answered, or the turn of the next is about to come. */
  isBusy: boolean;
  waiting: { request: IncomingMessage; response: ServerResponse }[];
  /** Nothing that arrives from now on is answered: the connection ends with what was taken before. */
  isEnding: boolean;
}

const LINE = Symbol('line');
type LinedSocket = Socket & { [LINE]?: Line };

/** One read of a socket (64 kB) holds about as many ordinary requests; who pipelines, sends a few. */
export const PIPELINED_MAX = 128;
/** Answers to those who may not, or too often: whoever pipelines behind one does not wait for answers. */
const REFUSALS: readonly number[] = [401, 403, 429];

/**
 * Serves the requests of a connection one after another, in their order. Node hands over all that one read of the
 * socket holds, thousands, in one turn of the event loop, and everybody else would wait for the last one. So each
 * after the first has a turn of its own, and the connection of a peer with more than {@link PIPELINED_MAX} unanswered
 * ones ends after these: HTTP lets a server close, and its client send the others again.
 *
 * A request on a connection without others is served at once, as if this was not there.
 */
export function inTurns(serve: Serve): Serve {
  const begin = (line: Line, request: IncomingMessage, response: ServerResponse): void => {
    line.isBusy = true;
    response.once('close', () => {
      if (line.waiting.length === 0) line.isBusy = false;
      else setImmediate(next, line, request.socket);
    });
    serve(request, response);
  };
  const next = (line: Line, socket: Socket): void => {
    // The answer before was the last one of the connection, or the peer is gone.
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
    socket[LINE] ??= { isBusy: false, waiting: [], isEnding: false };
    const line = socket[LINE];
    if (line.isEnding) return;
    if (!line.isBusy) {
      begin(line, request, response);
      return;
    }
    // Those that wait are complete: only of the one after them does anything remain to be read.
    if (line.waiting.length < PIPELINED_MAX) line.waiting.push({ request, response });
    else endLine(line, socket);
  };
}

/** Whether a request of this connection has no whole answer yet. */
export function owesAnswer(socket: Socket): boolean {
  return (socket as LinedSocket)[LINE]?.isBusy === true;
}

/**
 * To be called before the head of an answer is written: a refusal is the last answer of a connection on which more
 * requests wait. They are dropped unserved.
 */
export function endAtRefusal({ socket }: IncomingMessage, response: ServerResponse, status: number): void {
  const line = (socket as LinedSocket)[LINE];
  if (line === undefined || line.waiting.length === 0 || !REFUSALS.includes(status)) return;
  line.waiting.length = 0;
  response.shouldKeepAlive = false;
  endLine(line, socket);
}

/** Reading stops, too: what is not read is parsed for nobody. Node resumes a socket after each request that it parsed. */
function endLine(line: Line, socket: Socket): void {
  line.isEnding = true;
  socket.pause();
  socket.on('resume', () => socket.pause());
}
