/**
 * Data packed by an account's phone may be small and have millions of parts, each of which becomes an object:
 * 16 MB of empty conversations take a gigabyte, in a process that also serves others. So data made only by
 * the phone is decoded by readers that count its parts.
 * Messages that hold each other thousands of times can be decoded and then overflow the stack of whatever reads
 * them. So types that can hold themselves are decoded to a limited depth.
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

/** Types through which every cycle of types leads. */
export const NESTABLE = [
  'Message',
  'Message.InteractiveMessage',
  'Message.HighlyStructuredMessage',
  'ContextInfo.DataSharingContext.Parameters',
  'Field',
] as const;

/**
 * Maximum depth of these types in each other. The decoders of the network's own apps stop at 100 levels of any type,
 * Google's default.
 */
export const NESTED_MAX = 50;

export interface Decoders {
  proto: Record<string, Decoder>;
}

/** Opaque to us: its results are passed on. Types declared within a type are its properties. */
export interface Decoder {
  decode(from: unknown, ...more: unknown[]): unknown;
}

/** The reader of the library's codec, which calls its `uint32` for each tag and each length. */
export type ReaderClass = new (bytes: Uint8Array) => FieldReader;

export interface FieldReader {
  buf: Uint8Array;
  pos: number;
  len: number;
  uint32(): number;
  skip(bytes: number): unknown;
  skipType(wireType: number): unknown;
}

type Decode = Decoder['decode'];

const BOUNDED = Symbol.for('posthorn.whatsapp.bounded');

/**
 * Makes decoders throw if the data has more parts than {@link READS_MAX}, or is nested deeper than {@link NESTED_MAX}.
 * Repeated calls have no effect.
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
  const ofParts = (decode: Decode): Decode => {
    return (from, ...more) => decode(from instanceof Uint8Array ? new BoundedReader(from) : from, ...more);
  };
  for (const name of OF_PHONES) replaceDecode(proto[name]!, ofParts);
  for (const path of NESTABLE) replaceDecode(decoderAt(proto, path), toDepth);
}

/** Decoding is synchronous, so one counter serves all data. */
let depth = 0;

function toDepth(decode: Decode): Decode {
  return (from, ...more) => {
    if (depth >= NESTED_MAX) throw new Error('messages are nested too deeply');
    depth += 1;
    try {
      return decode(from, ...more);
    } finally {
      depth -= 1;
    }
  };
}

function replaceDecode(decoder: Decoder, bound: (decode: Decode) => Decode): void {
  if (BOUNDED in decoder) return;
  Object.assign(decoder, { decode: bound(decoder.decode), [BOUNDED]: true });
}

function decoderAt(proto: Decoders['proto'], path: string): Decoder {
  return path.split('.').reduce<unknown>((within, name) => (within as typeof proto)[name], proto) as Decoder;
}
