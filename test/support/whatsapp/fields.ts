/**
 * Protocol buffers by field numbers, as far as the handshake, pairing and the Signal messages need them: numbers and
 * bytes. So those parts do not depend on the library's coder.
 */

export type FieldValue = number | bigint | Uint8Array | string | undefined;

export type Field = readonly [number: number, value: FieldValue];

/** Writes the fields in this order; undefined is left out, numbers are varints. */
export function writeFields(fields: readonly Field[]): Buffer {
  const parts: Buffer[] = [];
  for (const [number, value] of fields) {
    if (value === undefined) continue;
    if (typeof value === 'number' || typeof value === 'bigint') {
      parts.push(varint(number << 3), varint(value));
    } else {
      const bytes = Buffer.from(value as Uint8Array);
      parts.push(varint((number << 3) | 2), varint(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

/** A text within so many wrappers: field 37 of a message, field 1 of the wrapper. */
export function nested(depth: number): Buffer {
  let message = writeFields([[1, 'x']]);
  for (let level = 0; level < depth; level += 1) message = writeFields([[37, writeFields([[1, message]])]]);
  return message;
}

/** The fields of a message; for a repeated field the last value. */
export class Fields {
  readonly #values = new Map<number, bigint | Buffer>();

  constructor(data: Uint8Array) {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    let at = 0;
    const readVarint = (): bigint => {
      let value = 0n;
      for (let shift = 0n; shift < 70n; shift += 7n) {
        const byte = bytes[at];
        if (byte === undefined) throw new Error('A message ends within a number');
        at += 1;
        value |= BigInt(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
      }
      throw new Error('A number of a message is too long');
    };
    const take = (length: number): Buffer => {
      if (at + length > bytes.length) throw new Error('A message ends within a field');
      at += length;
      return bytes.subarray(at - length, at);
    };
    while (at < bytes.length) {
      const tag = Number(readVarint());
      const number = tag >> 3;
      if ((tag & 7) === 0) this.#values.set(number, readVarint());
      else if ((tag & 7) === 1) this.#values.set(number, take(8));
      else if ((tag & 7) === 2) this.#values.set(number, take(Number(readVarint())));
      else if ((tag & 7) === 5) this.#values.set(number, take(4));
      else throw new Error(`Unknown wire type ${tag & 7} of field ${number}`);
    }
  }

  has(number: number): boolean {
    return this.#values.has(number);
  }

  bytes(number: number): Buffer {
    const value = this.#values.get(number);
    if (!Buffer.isBuffer(value)) throw new Error(`Field ${number} is missing`);
    return Buffer.from(value);
  }

  number(number: number): number {
    const value = this.#values.get(number);
    if (typeof value !== 'bigint') throw new Error(`Field ${number} is missing`);
    return Number(value);
  }

  within(number: number): Fields {
    return new Fields(this.bytes(number));
  }
}

function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(value);
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 0x80 : low);
  } while (rest > 0n);
  return Buffer.from(bytes);
}
