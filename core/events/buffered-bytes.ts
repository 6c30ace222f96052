import type { EventSink } from './event-sink.ts';

/** Bytes that the connections of this process were handed and have not taken yet, by company. */
export interface BufferedBytes {
  /** After a write: the bytes that this connection holds back now. */
  note(companyId: number, sink: EventSink, bytes: number): void;
  /**
   * Whether a connection of this company may be handed more. A company whose connections hold nothing back always has
   * room, so that no company waits for the readers of another.
   */
  hasRoom(companyId: number): boolean;
}

/** As many slow readers of one company as get a page of their own at the same time: about 16. */
const COMPANY_MAX_BYTES = 8 * 1024 * 1024;
const PROCESS_MAX_BYTES = 64 * 1024 * 1024;
/** A connection of Node.js tells that it has emptied only when it held about as much back. */
const NOTED_MIN_BYTES = 64 * 1024;

/** `onTaken` is called whenever a connection has taken what it held back. */
export function createBufferedBytes(onTaken: () => void): BufferedBytes {
  const bySink = new Map<EventSink, number>();
  const byCompany = new Map<number, number>();
  let total = 0;

  function set(companyId: number, sink: EventSink, bytes: number): void {
    const more = bytes - (bySink.get(sink) ?? 0);
    if (bytes > 0) bySink.set(sink, bytes);
    else bySink.delete(sink);
    total += more;
    const ofCompany = (byCompany.get(companyId) ?? 0) + more;
    if (ofCompany > 0) byCompany.set(companyId, ofCompany);
    else byCompany.delete(companyId);
  }

  return {
    note(companyId, sink, bytes) {
      const isKnown = bySink.has(sink);
      if (!isKnown && bytes < NOTED_MIN_BYTES) return;
      set(companyId, sink, bytes);
      if (isKnown) return;
      void sink.drained().then(() => {
        set(companyId, sink, 0);
        onTaken();
      });
    },
    hasRoom(companyId) {
      const ofCompany = byCompany.get(companyId) ?? 0;
      return ofCompany === 0 || (ofCompany < COMPANY_MAX_BYTES && total < PROCESS_MAX_BYTES);
    },
  };
}
