import { createHmac, randomBytes } from 'node:crypto';
import { hkdf, hmac, openCbc, sealCbc } from './keys.ts';
import type { LinkedDevice } from './linked-device.ts';
import { storeMedia } from './media-server.ts';
import { bytesOf, child, children, node, type Stanza, type WireMessage } from './nodes.ts';
import type { Phone } from './phone.ts';
import { type Collection, seconds, type World } from './world.ts';

/**
 * The shared state of an account's devices about its chats: labels, archived, pinned and muted chats, stars. The
 * network keeps sealed patches in order; phones and devices have the key. It checks all MACs that devices publish, and
 * phones publish correct ones.
 */

const MAC_BYTES = 32;

/** A change as the phone reads it. */
export interface Mutation {
  collection: string;
  operation: 'SET' | 'REMOVE';
  /** The path of the changed value, such as `["archive", "<jid>"]`. */
  index: string[];
  value: WireMessage;
}

interface Record {
  index: { blob: Buffer };
  value: { blob: Buffer };
  keyId: { id: Buffer };
}

interface Patch {
  mutations: { operation?: 'SET' | 'REMOVE'; record: Record }[];
  snapshotMac: Buffer;
  patchMac: Buffer;
  keyId: { id: Buffer };
}

/** Answers `w:sync:app:state`: takes a patch, or gives those that the device does not have. */
export function answerAppState(world: World, device: LinkedDevice, stanza: Stanza): readonly Stanza[] {
  const phone = world.phones.get(device.number)!;
  const named = children(child(stanza, 'sync'), 'collection');
  const heeded = named.filter(({ attrs }) => attrs.name !== world.faults.leavesOut);
  if (heeded.length < named.length) device.leftOut += 1;
  if (!named.some((asked) => child(asked, 'patch'))) device.fetches += 1;
  const collections = heeded.map((asked) => {
    const name = asked.attrs.name!;
    const known = collectionOf(world, phone, name);
    const version = Number(asked.attrs.version ?? 0);
    const patch = child(asked, 'patch');
    const before = patch ? world.faults.beforePatch : null;
    if (before) world.faults.beforePatch = null;
    before?.();
    if (patch && version !== known.patches.length) {
      return node('collection', { name, type: 'error' }, [node('error', { code: '409', text: 'conflict' })]);
    }
    if (patch) {
      const bytes = bytesOf(patch);
      const mutations = openPatch(world, phone, name, bytes);
      phone.mutations.push(...mutations);
      for (const mutation of mutations) takeName(phone, mutation);
      known.patches.push(bytes);
      tell(phone, device, name, known.patches.length);
      return node('collection', { name, version: String(known.patches.length) });
    }
    const newer = known.patches.slice(version).map((bytes, at) => withVersion(bytes, version + at + 1));
    const patches = newer.map((bytes) => node('patch', {}, bytes));
    return node(
      'collection',
      { name, version: String(version), has_more_patches: 'false' },
      patches.length > 0 ? [node('patches', {}, patches)] : undefined,
    );
  });
  return [node('sync', {}, collections)];
}

/** A device has given the account another name. */
function takeName(phone: Phone, { index, value }: Mutation): void {
  if (index[0] !== 'setting_pushName') return;
  phone.name = (value.pushNameSetting as { name: string }).name;
}

/** The user changes something on the phone, and its devices are notified. */
export function publish(
  world: World,
  phone: Phone,
  name: string,
  index: readonly string[],
  value: WireMessage,
  operation: 'SET' | 'REMOVE' = 'SET',
): void {
  const keys = expand(phone.appStateKey.data);
  const written = Buffer.from(JSON.stringify(index));
  const coder = world.coding.proto.SyncActionData!;
  const data = coder.encode(
    coder.fromObject({
      index: written,
      value: { timestamp: Date.now(), ...value },
      padding: Buffer.alloc(0),
      version: 2,
    }),
  );
  const iv = randomBytes(16);
  const sealed = Buffer.concat([iv, sealCbc(keys.value, iv, data.finish())]);
  const valueMac = valueMacOf(keys.valueMac, operation, sealed, phone.appStateKey.id);
  const indexMac = hmac(keys.index, written);
  const known = collectionOf(world, phone, name);
  mix(known, operation, indexMac, valueMac);
  const version = known.patches.length + 1;
  const snapshotMac = snapshotMacOf(keys.snapshot, known.hash, version, name);
  const keyId = { id: phone.appStateKey.id };
  const { SyncdPatch: patches, SyncdMutations: lists } = world.coding.proto;
  const mutations = [
    {
      operation,
      record: { index: { blob: indexMac }, value: { blob: Buffer.concat([sealed, valueMac]) }, keyId },
    },
  ];
  const asFile = () => {
    const bytes = Buffer.from(lists!.encode(lists!.fromObject({ mutations })).finish());
    const { url: _url, fileLength, ...reference } = storeMedia(world.media, 'app-state', bytes);
    return { externalMutations: { ...reference, fileSizeBytes: fileLength } };
  };
  const patch = patches!.encode(
    patches!.fromObject({
      ...(phone.publishesAs === 'file' ? asFile() : { mutations }),
      snapshotMac,
      patchMac: patchMacOf(keys.patch, snapshotMac, [valueMac], version, name),
      keyId,
    }),
  );
  known.patches.push(Buffer.from(patch.finish()));
  tell(phone, null, name, version);
}

function openPatch(world: World, phone: Phone, name: string, bytes: Buffer): Mutation[] {
  const { SyncdPatch, SyncActionData } = world.coding.proto;
  const options = { bytes: Buffer, enums: String, longs: Number };
  const patch = SyncdPatch!.toObject(SyncdPatch!.decode(bytes), options) as unknown as Patch;
  if (!patch.keyId.id.equals(phone.appStateKey.id))
    throw new Error('A patch under a key that the phone never gave');
  const keys = expand(phone.appStateKey.data);
  const known = collectionOf(world, phone, name);
  const valueMacs: Buffer[] = [];
  const mutations = patch.mutations.map(({ operation = 'SET', record }): Mutation => {
    const sealed = record.value.blob.subarray(0, -MAC_BYTES);
    const valueMac = record.value.blob.subarray(-MAC_BYTES);
    if (!valueMac.equals(valueMacOf(keys.valueMac, operation, sealed, record.keyId.id))) {
      throw new Error('A change with a wrong MAC');
    }
    const plain = openCbc(keys.value, sealed.subarray(0, 16), sealed.subarray(16));
    const data = SyncActionData!.toObject(SyncActionData!.decode(plain), options) as {
      index: Buffer;
      value: WireMessage;
    };
    if (!hmac(keys.index, data.index).equals(record.index.blob))
      throw new Error('A change with a wrong index');
    mix(known, operation, record.index.blob, valueMac);
    valueMacs.push(valueMac);
    return { collection: name, operation, index: JSON.parse(data.index.toString()), value: data.value };
  });
  const version = known.patches.length + 1;
  if (!patch.snapshotMac.equals(snapshotMacOf(keys.snapshot, known.hash, version, name))) {
    throw new Error('A patch that leads to another state');
  }
  if (!patch.patchMac.equals(patchMacOf(keys.patch, patch.snapshotMac, valueMacs, version, name))) {
    throw new Error('A patch with a wrong MAC');
  }
  return mutations;
}

function collectionOf(world: World, phone: Phone, name: string): Collection {
  const key = `${phone.number} ${name}`;
  const known = world.appState.get(key) ?? { patches: [], hash: Buffer.alloc(128), valueMacs: new Map() };
  world.appState.set(key, known);
  return known;
}

/** The hash of all values that are set: each value's MAC, stretched, as 64 numbers of 16 bits that are added up. */
function mix(known: Collection, operation: 'SET' | 'REMOVE', indexMac: Buffer, valueMac: Buffer): void {
  const index = indexMac.toString('hex');
  const before = known.valueMacs.get(index);
  if (before) addTo(known.hash, before, -1);
  known.valueMacs.delete(index);
  if (operation === 'REMOVE') return;
  addTo(known.hash, valueMac, 1);
  known.valueMacs.set(index, Buffer.from(valueMac));
}

function addTo(hash: Buffer, valueMac: Buffer, sign: 1 | -1): void {
  const stretched = hkdf(valueMac, hash.length, 'WhatsApp Patch Integrity');
  for (let at = 0; at < hash.length; at += 2) {
    const sum = hash.readUInt16LE(at) + sign * stretched.readUInt16LE(at);
    hash.writeUInt16LE((sum + 0x10000) & 0xffff, at);
  }
}

function expand(data: Buffer) {
  const keys = hkdf(data, 160, 'WhatsApp Mutation Keys');
  const part = (nth: number) => keys.subarray(nth * 32, nth * 32 + 32);
  return { index: part(0), value: part(1), valueMac: part(2), snapshot: part(3), patch: part(4) };
}

function valueMacOf(key: Buffer, operation: 'SET' | 'REMOVE', sealed: Buffer, keyId: Buffer): Buffer {
  const about = Buffer.concat([Buffer.from([operation === 'SET' ? 1 : 2]), keyId]);
  const length = Buffer.alloc(8);
  length[7] = about.length;
  return createHmac('sha512', key)
    .update(about)
    .update(sealed)
    .update(length)
    .digest()
    .subarray(0, MAC_BYTES);
}

function snapshotMacOf(key: Buffer, hash: Buffer, version: number, name: string): Buffer {
  return hmac(key, hash, number64(version), Buffer.from(name));
}

function patchMacOf(
  key: Buffer,
  snapshotMac: Buffer,
  valueMacs: readonly Buffer[],
  version: number,
  name: string,
): Buffer {
  return hmac(key, snapshotMac, ...valueMacs, number64(version), Buffer.from(name));
}

function number64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(value, 4);
  return bytes;
}

function tell(phone: Phone, from: LinkedDevice | null, name: string, version: number): void {
  for (const device of phone.devices.values()) {
    if (device === from) continue;
    const attrs = {
      from: '@s.whatsapp.net',
      id: randomBytes(6).toString('hex'),
      t: seconds(),
      type: 'server_sync',
    };
    device.deliver(node('notification', attrs, [node('collection', { name, version: String(version) })]));
  }
}

/** The network sets the version: field 1 of the patch, which devices leave out. */
function withVersion(patch: Buffer, version: number): Buffer {
  const number = version < 128 ? [8, version] : [8, (version & 0x7f) | 0x80, version >> 7];
  return Buffer.concat([Buffer.from([0x0a, number.length, ...number]), patch]);
}
