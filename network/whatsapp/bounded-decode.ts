/**
 * Data packed by an account's phone may be small and have millions of parts, each of which becomes an object:
 * 16 MB of empty conversations take a gigabyte, in a process that also serves others. So data made only by
 * the phone is decoded by readers that count its parts.
 */

/**
 * Maximum tags and lengths read from one history, or from one part of the account's state. A message of a
 * history has about 40, so this is 50,000 messages; a history of the network has a few thousand.
 */
export const READS_MAX = 2_000_000;

/**
 * Data made by a phone that the library decodes. Messages of others come through the network, which limits
 * them.
 */
const OF_PHONES = ['HistorySync', 'SyncdSnapshot', 'SyncdMutations', 'SyncdPatch'] as const;

export interface Decoders {
  proto: Record<(typeof OF_PHONES)[number], Decoder>;
}

/** Opaque to us: its results are passed on. */
interface Decoder {
  decode(from: unknown, ...more: unknown[]): unknown;
}

/** The reader of the library's codec, which calls its `uint32` for each tag and each length. */
export type ReaderClass = new (bytes: Uint8Array) => { uint32(): number };

const BOUNDED = Symbol.for('posthorn.whatsapp.bounded');

/**
 * Makes these decoders throw if the data has more parts than {@link READS_MAX}. Repeated calls have no
 * effect.
 */
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
