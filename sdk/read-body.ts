import { ConnectionError, TimeoutError } from './error.ts';
import type { Leash } from './wait.ts';

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/**
 * The next piece of a body. Throws the signal's reason when the caller aborted, TIMEOUT after `silenceMs`, and NETWORK
 * when the body breaks off; `what` names the body.
 */
export async function readPiece(
  { leash, what, silenceMs }: { leash: Leash; what: string; silenceMs: number },
  reader: Reader,
): Promise<Awaited<ReturnType<Reader['read']>>> {
  // The timer runs only while we wait: the time that the consumer takes for a piece is not silence.
  leash.rearm(silenceMs);
  try {
    return await reader.read();
  } catch (cause) {
    if (leash.timedOut())
      throw new TimeoutError({
        code: 'TIMEOUT',
        status: 0,
        message: `${what} was silent for ${silenceMs} ms`,
        cause,
      });
    if (leash.signal.aborted) throw leash.signal.reason;
    throw new ConnectionError({ code: 'NETWORK', status: 0, message: `${what} broke off`, cause });
  } finally {
    leash.rearm(null);
  }
}

/** The same answer, whose body releases the caller's signal when it ends. */
export function withLeash(response: Response, leash: Leash, silenceMs: number): Response {
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
  if (!reader) {
    leash.release();
    return response;
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await readPiece({ leash, what: 'the answer', silenceMs }, reader);
          if (!done) return controller.enqueue(value);
          leash.release();
          controller.close();
        } catch (error) {
          leash.release();
          throw error;
        }
      },
      cancel(reason) {
        leash.release();
        return reader.cancel(reason);
      },
    },
    // Nothing is read before somebody asks for it.
    { highWaterMark: 0 },
  );
  const { status, statusText, headers, url } = response;
  const answer = new Response(body, { status, statusText });
  // The original headers: some platforms leave cookies out of copies.
  return Object.defineProperties(answer, { headers: { value: headers }, url: { value: url } });
}
