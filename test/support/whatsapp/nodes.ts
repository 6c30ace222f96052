import { loadLibrary } from '@posthorn/network/whatsapp/library.ts';

/**
 * The stanzas of the network. The library's coder makes their binary form and the fields of messages: it is the one
 * part that both ends share. The code that seals, signs or checks is ours.
 */

export interface Stanza {
  tag: string;
  attrs: Record<string, string>;
  content?: readonly Stanza[] | string | Uint8Array | undefined;
}

/** A decoded message; tests compare its content field by field, so it has no precise type. */
export type WireMessage = Record<string, unknown>;

interface Coder {
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): { toJSON(): WireMessage };
  fromObject(object: unknown): unknown;
  toObject(message: unknown, options?: Record<string, unknown>): WireMessage;
}

export interface Coding {
  encodeNode(node: Stanza): Uint8Array;
  decodeNode(bytes: Buffer): Promise<Stanza>;
  /** The bytes of a `Message`; `object` as `fromObject` of protobufjs takes it, or {@link raw}. */
  encodeMessage(object: WireMessage): Buffer;
  decodeMessage(bytes: Uint8Array): WireMessage;
  proto: Record<string, Coder>;
}

interface CoderLibrary {
  encodeBinaryNode(node: Stanza): Uint8Array;
  decodeBinaryNode(bytes: Buffer): Promise<Stanza>;
  proto: Record<string, Coder>;
}

export async function loadCoding(): Promise<Coding> {
  const library = (await loadLibrary()) as unknown as CoderLibrary;
  const message = library.proto.Message!;
  return {
    encodeNode: (node) => library.encodeBinaryNode(node),
    decodeNode: (bytes) => library.decodeBinaryNode(bytes),
    encodeMessage: (object) =>
      object.raw instanceof Uint8Array
        ? Buffer.from(object.raw)
        : Buffer.from(message.encode(message.fromObject(object)).finish()),
    // Numbers as numbers, bytes as Buffer, no defaults: fields that were not sent are absent.
    decodeMessage: (bytes) =>
      message.toObject(message.decode(bytes), { longs: Number, bytes: Buffer, enums: String }),
    proto: library.proto,
  };
}

/** Bytes in place of a message's encoding. */
export function raw(bytes: Uint8Array): WireMessage {
  return { raw: bytes };
}

export function node(
  tag: string,
  attrs: Record<string, string | undefined> = {},
  content?: Stanza['content'],
): Stanza {
  const given = Object.entries(attrs).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { tag, attrs: Object.fromEntries(given), content };
}

export function children(of: Stanza | undefined, tag?: string): Stanza[] {
  if (!Array.isArray(of?.content)) return [];
  return (of.content as Stanza[]).filter((child) => tag === undefined || child.tag === tag);
}

export function child(of: Stanza | undefined, tag: string): Stanza | undefined {
  return children(of, tag)[0];
}

/** The bytes of a stanza. Throws when it has none. */
export function bytesOf(of: Stanza | undefined): Buffer {
  if (of?.content instanceof Uint8Array) return Buffer.from(of.content);
  if (typeof of?.content === 'string') return Buffer.from(of.content);
  throw new Error(`A stanza ${of?.tag ?? ''} has no bytes`);
}

export function textOf(of: Stanza | undefined): string {
  return bytesOf(of).toString('utf8');
}

export function uintOf(of: Stanza | undefined): number {
  const bytes = bytesOf(of);
  return bytes.readUIntBE(0, bytes.length);
}

export function uintBytes(value: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUIntBE(value, 0, length);
  return bytes;
}

/** The parts of `user:device@server`; a JID without a device is that of the phone itself, device 0. */
export function parseJid(jid: string): { user: string; device: number; server: string } {
  const at = jid.indexOf('@');
  if (at < 0) throw new Error(`No JID: ${jid}`);
  const [user = '', device] = jid.slice(0, at).split(':');
  return { user, device: device ? Number(device) : 0, server: jid.slice(at + 1) };
}

/** Signal messages carry 1 to 16 bytes of padding. */
export function pad(bytes: Uint8Array): Buffer {
  const length = 1 + Math.floor(Math.random() * 16);
  return Buffer.concat([bytes, Buffer.alloc(length, length)]);
}

export function unpad(bytes: Buffer): Buffer {
  const length = bytes.at(-1) ?? 0;
  if (length < 1 || length > 16 || length > bytes.length) throw new Error('A message without its padding');
  return bytes.subarray(0, -length);
}
