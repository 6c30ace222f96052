/**
 * What the phone of an account packs may be small and have millions of parts, each of which becomes an object: 16 MB of
 * empty conversations take a gigabyte, in a process that serves others as well. So what the phone alone makes is decoded
 * by readers that count.
 */

/**
 * Tags and lengths that are read of one history, or of one part of the account's state. A message of a history has about
 * 40 of them, so that it is 50,000 messages; a history of the network has a few thousand.
 */
export const READS_MAX = 2_000_000;

/** What the library decodes of what a phone made. Messages of others come through the network, which bounds them. */
const OF_PHONES = ['HistorySync', 'SyncdSnapshot', 'SyncdMutations', 'SyncdPatch'] as const;

export interface Decoders {
  proto: Record<(typeof OF_PHONES)[number], Decoder>;
}

/** Anonymous to us: what it gives is handed on. */
interface Decoder {
  decode(from: unknown, ...more: unknown[]): unknown;
}

/** The reader of the library's codec, which asks its `uint32` for each tag and each length. */
export type ReaderClass = new (bytes: Uint8Array) => { uint32(): number };

const BOUNDED = Symbol.for('posthorn.whatsapp.bounded');

/** Makes these decoders throw an error at what has more parts than {@link READS_MAX}. More than once is once. */
export function boundDecoders({ proto }: Decoders, Reader: ReaderClass): void {
  class BoundedReader extends Reader {
    #left = READS_MAX;
    override uint32(): number {
      this.#left -= 1;
      if (this.#left < 0) throw new Error('what the phone sent has too many parts');
      return super.uint32();
    }
  }
  for (const name of OF_PHONES) {
    const decoder = proto[name];
    if (BOUNDED in decoder) continue;
    const { decode } = decoder;
    decoder.decode = (from, ...more) =>
      decode(from instanceof Uint8Array ? new BoundedReader(from) : from, ...more);
    Object.assign(decoder, { [BOUNDED]: true });
  }
}
