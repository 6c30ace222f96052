/**
 * Kinds of messages that are newer than the library. It passes over fields that it does not know, so such a message would
 * count as one without content, and be confirmed and never told.
 */
import type { Decoders, FieldReader, ReaderClass } from './bounded-decode.ts';
import type { WireMessage } from './wire/wire-types.ts';

/** The number of the last field of `Message` that the library knows. */
const LAST_KNOWN = 114;

/** Kinds that are read as one that the library knows, by the numbers of their fields. */
const READ_AS: ReadonlyMap<number, { as: keyof WireMessage; type: string }> = new Map([
  // spoilerMessage, around content that apps hide until somebody taps on it
  [118, { as: 'ephemeralMessage', type: 'FutureProofMessage' }],
  // pollCreationMessageV6
  [119, { as: 'pollCreationMessageV5', type: 'PollCreationMessage' }],
]);

/** Keys of groups, and changes of other messages: nobody sees these. */
const ASIDE: ReadonlySet<number> = new Set([
  121, // pollAddOptionMessage
  123, // groupRootKeyShare
  127, // rootSecretDistributeMessage
  128, // splitPaymentUpdateMessage
  130, // statusLinkPreviewMetadata
]);

/** The wire type of bytes, which all messages are. */
const BYTES = 2;

type DecodeMessage = (from: Uint8Array | FieldReader, length?: number, ...more: unknown[]) => WireMessage;
type MessageType = Record<string, { decode(from: Uint8Array): unknown }> & { decode: DecodeMessage };

const MENDED = Symbol.for('posthorn.whatsapp.newer-kinds');

/** Makes the library's decoder of messages read these kinds. Called before its depth is bounded; repeated calls have no effect. */
export function readNewerKinds({ proto }: Decoders, Reader: ReaderClass): void {
  const Message = proto.Message as unknown as MessageType;
  if (MENDED in Message) return;
  const plain = Message.decode;
  const decode: DecodeMessage = (from, length, ...more) => {
    const bytes = bytesOf(from, length);
    const message = plain(from, length, ...more);
    const reader = new Reader(bytes);
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      const number = tag >>> 3;
      if (number <= LAST_KNOWN || ASIDE.has(number) || (tag & 7) !== BYTES) {
        reader.skipType(tag & 7);
        continue;
      }
      const size = reader.uint32();
      const known = READ_AS.get(number);
      if (!known) message.newerMessage = {};
      else {
        const value = bytes.subarray(reader.pos, reader.pos + size);
        Object.assign(message, { [known.as]: Message[known.type]!.decode(value) });
      }
      reader.skip(size);
    }
    return message;
  };
  Object.assign(Message, { decode, [MENDED]: true });
}

/** A message within another one is read from the reader of that. */
function bytesOf(from: Uint8Array | FieldReader, length: number | undefined): Uint8Array {
  if (from instanceof Uint8Array) return from;
  const { buf, pos, len } = from;
  return buf.subarray(pos, length === undefined ? len : pos + length);
}
