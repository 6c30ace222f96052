import type { Random } from './hostile-frames.ts';

/**
 * Random messages that a client can decode: the fields of each type, as the library's decoders name them, with values
 * that the network's own apps never send.
 */

type Kind = 'string' | 'bytes' | 'number' | 'long' | 'four' | 'eight';
interface Field {
  number: number;
  /** A type's name, or the kind of the value. */
  holds: Kind | { type: string };
}

/** Types by their names, with their fields. */
export type Schema = ReadonlyMap<string, readonly Field[]>;

const KINDS: Readonly<Record<string, Kind>> = {
  string: 'string',
  bytes: 'bytes',
  int64: 'long',
  uint64: 'long',
  float: 'four',
  fixed32: 'four',
  sfixed32: 'four',
  double: 'eight',
  fixed64: 'eight',
  sfixed64: 'eight',
};

/** Reads the types from the generated source of the library's decoders. */
export function schemaOf(source: string): Schema {
  const schema = new Map<string, Field[]>();
  const types = source.matchAll(
    /new \$root\.proto\.([\w.]+)\(\)[^;]*;\s+while \(r\.pos < c\) \{(.*?)default:/gs,
  );
  for (const [, type, cases] of types) {
    const fields = [...cases!.matchAll(/case (\d+): \{(.*?)break;/gs)].flatMap(
      ([, number, body]): Field[] => {
        const held = /\$root\.proto\.([\w.]+)\.decode\(/.exec(body!)?.[1];
        const read = /r\.(\w+)\(\)/.exec(body!)?.[1];
        // A map.
        if (body!.includes('tag2')) return [];
        if (held) return [{ number: Number(number), holds: { type: held } }];
        return read ? [{ number: Number(number), holds: KINDS[read] ?? 'number' }] : [];
      },
    );
    schema.set(type!, fields);
  }
  return schema;
}

/** Names of existing messages, chats and people. */
export interface Known {
  ids: readonly string[];
  jids: readonly string[];
}

const DEPTH_MAX = 8;
/** The average number of a type's fields that are set. */
const FIELDS = 3;

/** The encoding of a message of random fields; `type` is its name in the library. */
export function randomMessage(schema: Schema, random: Random, known: Known, root = 'Message'): Buffer {
  const below = (count: number) => Math.floor(random() * count);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)]!;
  const junk = (length: number) => Buffer.from(Array.from({ length }, () => below(256)));

  const texts = [
    () => '',
    () => 'x'.repeat(below(5_000)),
    () =>
      pick([
        'A\0B',
        '\0',
        '\u202e\u0000',
        '👍',
        '{"a":1}',
        '__proto__',
        'constructor',
        '-1',
        '1e309',
        'null',
      ]),
    () =>
      pick([
        'http://127.0.0.1:1/x',
        'file:///etc/passwd',
        'data:,x',
        'https://mmg.whatsapp.net/x?y',
        '/v/t62/x',
      ]),
    () =>
      pick(['@g.us', '@lid', 'a@b', 'status@broadcast', '1:99@lid', '123@newsletter', '0@s.whatsapp.net']),
    () => pick(known.jids),
    () => pick(known.ids),
    // Invalid UTF-8.
    () => junk(below(20)),
    () => Buffer.from('a\ud800b', 'utf16le'),
  ];
  // The library reads a number of 32 bits from five bytes or from ten.
  const numbers = [0n, 1n, 2n, 5n, 6n, 14n, 127n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 63n, 2n ** 64n - 1n];
  const seconds = BigInt(Math.floor(Date.now() / 1_000));
  const number = () => pick([...numbers, BigInt(below(100)), seconds]);
  const long = () => pick([...numbers, 2n ** 53n, 2n ** 63n - 1n, seconds, seconds * 1_000n]);

  function value(kind: Kind): Buffer {
    if (kind === 'number') return varint(number());
    if (kind === 'long') return varint(long());
    if (kind === 'four') return junk(4);
    if (kind === 'eight') {
      const eight = Buffer.alloc(8);
      eight.writeDoubleLE(pick([0, -0, 1.5, -181, 1e308, Number.NaN, Number.POSITIVE_INFINITY]));
      return eight;
    }
    if (kind === 'bytes') return withLength(junk(pick([0, 1, 12, 16, 32, 33, 64, 300])));
    return withLength(Buffer.from(pick(texts)() as string));
  }

  function message(type: string, depth: number): Buffer {
    const fields = schema.get(type)!;
    const isKind = type === 'Message' && depth === 0;
    const share = depth === 0 ? 0.5 : FIELDS / fields.length;
    const chosen = isKind ? [pick(fields), pick(fields)] : fields.filter(() => random() < share);
    const parts = chosen.flatMap(({ number: at, holds }) => {
      const times = random() < 0.1 ? 2 : 1;
      return Array.from({ length: times }, () => {
        if (typeof holds === 'string') return Buffer.concat([tag(at, WIRE[holds]), value(holds)]);
        if (depth >= DEPTH_MAX) return Buffer.alloc(0);
        return Buffer.concat([tag(at, 2), withLength(message(holds.type, depth + 1))]);
      });
    });
    return Buffer.concat(parts);
  }

  return message(root, 0);
}

const WIRE: Readonly<Record<Kind, number>> = { number: 0, long: 0, eight: 1, string: 2, bytes: 2, four: 5 };

const tag = (field: number, wire: number) => varint((BigInt(field) << 3n) | BigInt(wire));
const withLength = (bytes: Buffer) => Buffer.concat([varint(BigInt(bytes.length)), bytes]);

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}
