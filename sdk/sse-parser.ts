/** Server-sent events, as the HTML standard reads them. */

export interface SseFrame {
  /** `message` when the frame names none. */
  event: string;
  /** Lines joined by a line feed; null for a frame that only moves the id, as heartbeats do. */
  data: string | null;
  /** The last id that the stream gave, in this frame or before; null when it gave none. */
  id: string | null;
}

export interface SseParser {
  /** The frames that this piece completes. Pieces may end anywhere, inside a character too. */
  push(chunk: Uint8Array): SseFrame[];
  /** The characters of the frame that is not complete yet. */
  pending(): number;
  /** The delay that the server asks clients to wait before they reconnect; null until it asks. */
  retryMs(): number | null;
}

export function createSseParser(): SseParser {
  // The decoder drops a byte order mark at the beginning of the stream.
  const decoder = new TextDecoder();
  let rest = '';
  let skipLineFeed = false;
  let data: string[] = [];
  let dataLength = 0;
  let event = '';
  let id: string | null = null;
  let idMoved = false;
  let retryMs: number | null = null;

  function line(text: string): SseFrame | null {
    if (text === '') return dispatch();
    const colon = text.indexOf(':');
    if (colon === 0) return null;
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(colon + (text[colon + 1] === ' ' ? 2 : 1));
    if (field === 'data') {
      data.push(value);
      // With its line feed: empty lines take room as well.
      dataLength += value.length + 1;
    } else if (field === 'event') event = value;
    else if (field === 'id' && !value.includes('\0')) {
      id = value;
      idMoved = true;
    } else if (field === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value);
    return null;
  }

  function dispatch(): SseFrame | null {
    const frame =
      data.length > 0
        ? { event: event || 'message', data: data.join('\n'), id }
        : idMoved
          ? { event: '', data: null, id }
          : null;
    data = [];
    dataLength = 0;
    event = '';
    idMoved = false;
    return frame;
  }

  function push(chunk: Uint8Array): SseFrame[] {
    const frames: SseFrame[] = [];
    let text = decoder.decode(chunk, { stream: true });
    // This line feed belongs to the carriage return at the end of the previous piece.
    if (skipLineFeed && text.length > 0) {
      skipLineFeed = false;
      if (text[0] === '\n') text = text.slice(1);
    }
    const ends = /\r\n|\r|\n/g;
    let start = 0;
    for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
      const frame = line(rest + text.slice(start, end.index));
      if (frame) frames.push(frame);
      rest = '';
      start = ends.lastIndex;
      if (end[0] === '\r' && start === text.length) skipLineFeed = true;
    }
    rest += text.slice(start);
    return frames;
  }

  return { push, pending: () => rest.length + dataLength, retryMs: () => retryMs };
}
