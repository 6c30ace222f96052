import { createCipheriv, createDecipheriv, pbkdf2Sync, randomBytes } from 'node:crypto';
import { Fields, writeFields } from './fields.ts';
import { agree, generateKeys, hkdf, hmac, isSignedBy, openGcm, sign, withType } from './keys.ts';
import { LinkedDevice } from './linked-device.ts';
import { bytesOf, child, node, type Stanza } from './nodes.ts';
import type { Phone } from './phone.ts';
import { type Candidate, jidIn, seconds, type World } from './world.ts';

/**
 * The ways in which a device is linked to a phone: by the QR code that it shows, or by the code that the user types.
 */

const ACCOUNT_PREFIX = Buffer.from([6, 0]);
const DEVICE_PREFIX = Buffer.from([6, 1]);
const REFS = 6;
const CODE_ROUNDS = 131_072;

/** The facts that a device states about itself before it is paired. Throws when its own signature is wrong. */
export function readCandidate(
  world: World,
  payload: Fields,
  noiseKey: Buffer,
  connection: Candidate['connection'],
): Candidate {
  const data = payload.within(19);
  const identity = data.bytes(3);
  const key = data.bytes(5);
  const signature = data.bytes(6);
  if (!isSignedBy(identity, withType(key), signature))
    throw new Error('The signed prekey has a wrong signature');
  const skeyId = data.bytes(4);
  const regId = data.bytes(1);
  const candidate: Candidate = {
    refs: Array.from({ length: REFS }, () => `2@${randomBytes(24).toString('base64url')}`),
    identity,
    noiseKey,
    registrationId: regId.readUIntBE(0, regId.length),
    signedPreKey: { id: skeyId.readUIntBE(0, skeyId.length), key, signature },
    connection,
    code: null,
    finish: null,
    promised: null,
  };
  for (const ref of candidate.refs) world.waiting.set(ref, candidate);
  return candidate;
}

/** The first message to a device that is not paired: the references for its QR codes. */
export function offerRefs(candidate: Candidate): Stanza {
  const refs = candidate.refs.map((ref) => node('ref', {}, Buffer.from(ref)));
  return node(
    'iq',
    { from: '@s.whatsapp.net', id: randomBytes(6).toString('hex'), type: 'set', xmlns: 'md' },
    [node('pair-device', {}, refs)],
  );
}

/** Whether a device waits for this QR code to be scanned. */
export function isShown(world: World, qr: string): boolean {
  return world.waiting.has(piecesOf(qr)[0]!);
}

function piecesOf(qr: string): string[] {
  return qr.replace(/^.*#/, '').split(',');
}

/** The phone's camera sees a QR code. Throws when it is not one that a device shows now. */
export function scan(world: World, phone: Phone, qr: string): void {
  const [ref = '', noiseKey, identity, secret = ''] = piecesOf(qr);
  const candidate = world.waiting.get(ref);
  if (!candidate) throw new Error('The QR code is not of a device that waits');
  if (
    candidate.noiseKey.toString('base64') !== noiseKey ||
    candidate.identity.toString('base64') !== identity
  ) {
    throw new Error('The QR code shows other keys than the device has');
  }
  promise(world, phone, candidate, Buffer.from(secret, 'base64'));
}

/** The device asks for a pairing by code: the data that the phone will need is kept until the user types the code. */
export function startCode(world: World, candidate: Candidate, request: Stanza): Stanza {
  const number = (request.attrs.jid ?? '').split('@')[0]!;
  const ref = `code-${randomBytes(12).toString('hex')}`;
  const wrapped = bytesOf(child(request, 'link_code_pairing_wrapped_companion_ephemeral_pub'));
  candidate.code = { number, wrapped, ref };
  world.waiting.set(ref, candidate);
  return node('link_code_companion_reg', { stage: 'companion_hello' }, [
    node('link_code_pairing_ref', {}, Buffer.from(ref)),
  ]);
}

/** The user types the code that the device shows. Throws when no device waits for this number with a code. */
export function enterCode(world: World, phone: Phone, code: string): void {
  const candidate = [...world.waiting.values()].find((each) => each.code?.number === phone.number);
  if (!candidate?.code) throw new Error('No device waits for a code of this phone');
  const { wrapped, ref } = candidate.code;
  const theirs = turn(createDecipheriv, code, wrapped);
  const ephemeral = generateKeys();
  const salt = randomBytes(32);
  const iv = randomBytes(16);
  const header = Buffer.concat([salt, iv]);
  const answer = Buffer.concat([
    header,
    turn(createCipheriv, code, Buffer.concat([header, ephemeral.public])),
  ]);
  candidate.finish = (bundle, identity) => {
    const shared = agree(ephemeral.private, theirs);
    const key = hkdf(shared, 32, 'link_code_pairing_key_bundle_encryption_key', bundle.subarray(0, 32));
    const opened = openGcm(key, bundle.subarray(32, 44), bundle.subarray(44), Buffer.alloc(0));
    if (!opened.subarray(0, 32).equals(identity) || !identity.equals(candidate.identity)) {
      throw new Error('The device finishes with another key than it began with');
    }
    if (!opened.subarray(32, 64).equals(phone.identity.public)) {
      throw new Error('The device takes the phone for another');
    }
    const parts = [shared, agree(phone.identity.private, identity), opened.subarray(64, 96)];
    promise(world, phone, candidate, hkdf(Buffer.concat(parts), 32, 'adv_secret'));
  };
  candidate.connection.send(
    node(
      'notification',
      {
        from: '@s.whatsapp.net',
        id: randomBytes(6).toString('hex'),
        t: seconds(),
        type: 'link_code_companion_reg',
      },
      [
        node('link_code_companion_reg', { stage: 'primary_hello' }, [
          node('link_code_pairing_wrapped_primary_ephemeral_pub', {}, answer),
          node('primary_identity_pub', {}, phone.identity.public),
          node('link_code_pairing_ref', {}, Buffer.from(ref)),
        ]),
      ],
    ),
  );
}

/** The device's last message of a pairing by code. */
export function finishCode(candidate: Candidate, request: Stanza): void {
  if (!candidate.finish) throw new Error('A pairing by code ends that never began');
  candidate.finish(
    bytesOf(child(request, 'link_code_pairing_wrapped_key_bundle')),
    bytesOf(child(request, 'companion_identity_public')),
  );
}

/** The device has signed in its turn: it is linked to the phone from now on. Throws when its signature is wrong. */
export function confirmPairing(world: World, candidate: Candidate, answer: Stanza): void {
  const promised = candidate.promised;
  if (!promised) throw new Error('A device confirms a pairing that nobody promised');
  const { phone, deviceId, keyIndex, details } = promised;
  const identity = child(child(answer, 'pair-device-sign'), 'device-identity');
  const signed = new Fields(bytesOf(identity));
  const message = Buffer.concat([DEVICE_PREFIX, details, candidate.identity, phone.identity.public]);
  if (!signed.bytes(1).equals(details)) throw new Error('The device signs something else');
  if (!isSignedBy(candidate.identity, message, signed.bytes(4)))
    throw new Error('Wrong signature of the device');
  if (identity?.attrs['key-index'] !== String(keyIndex)) throw new Error('Wrong key index');
  for (const ref of candidate.refs) world.waiting.delete(ref);
  if (candidate.code) world.waiting.delete(candidate.code.ref);
  phone.devices.set(
    deviceId,
    new LinkedDevice({
      number: phone.number,
      id: deviceId,
      identity: candidate.identity,
      noiseKey: candidate.noiseKey,
      signedIdentity: bytesOf(identity),
      registrationId: candidate.registrationId,
      signedPreKey: candidate.signedPreKey,
    }),
  );
  tellDevices(phone, deviceId);
}

/** The network tells the other devices of an account which ones there are now. */
function tellDevices(phone: Phone, added: number): void {
  const devices = [0, ...phone.devices.keys()].map((id) => node('device', { jid: jidIn('pn', phone, id) }));
  for (const device of phone.devices.values()) {
    if (device.id === added) continue;
    const attrs = { from: phone.jid, id: randomBytes(6).toString('hex'), t: seconds(), type: 'account_sync' };
    device.deliver(node('notification', attrs, [node('devices', { dhash: '2:new' }, devices)]));
  }
}

/**
 * The phone vouches for the device: its signature over the device's key, sealed with a secret that only the two know.
 */
function promise(world: World, phone: Phone, candidate: Candidate, secret: Buffer): void {
  const fault = world.faults.pairing;
  const deviceId = phone.takeDeviceId();
  const keyIndex = deviceId;
  const details = writeFields([
    [1, 1],
    [2, Math.floor(Date.now() / 1_000)],
    [3, keyIndex],
    [4, 0],
    [5, 0],
  ]);
  const signer = fault === 'foreign_account_key' ? generateKeys() : phone.identity;
  const signature = sign(signer.private, Buffer.concat([ACCOUNT_PREFIX, details, candidate.identity]));
  if (fault === 'account_signature') signature[10] = signature[10]! ^ 1;
  const identity = writeFields([
    [1, details],
    [2, phone.identity.public],
    [3, signature],
  ]);
  const mac = hmac(fault === 'hmac' ? randomBytes(32) : secret, identity);
  candidate.promised = { phone, deviceId, keyIndex, details };
  candidate.connection.send(
    node(
      'iq',
      { from: '@s.whatsapp.net', id: randomBytes(6).toString('hex'), type: 'set', xmlns: 'md', t: seconds() },
      [
        node('pair-success', {}, [
          node(
            'device-identity',
            {},
            writeFields([
              [1, identity],
              [2, mac],
            ]),
          ),
          node('device', {
            jid: `${phone.number}:${deviceId}@s.whatsapp.net`,
            lid: `${phone.lidUser}:${deviceId}@lid`,
          }),
          node('platform', { name: phone.isBusiness ? 'smba' : 'android' }),
          ...(phone.isBusiness ? [node('biz', { name: phone.name })] : []),
        ]),
      ],
    ),
  );
}

/** AES-CTR under the code: salt (32 bytes), counter (16), then the text. */
function turn(
  way: (
    algorithm: 'aes-256-ctr',
    key: Buffer,
    iv: Buffer,
  ) => { update(data: Buffer): Buffer; final(): Buffer },
  code: string,
  wrapped: Buffer,
): Buffer {
  const key = pbkdf2Sync(code, wrapped.subarray(0, 32), CODE_ROUNDS, 32, 'sha256');
  const cipher = way('aes-256-ctr', key, wrapped.subarray(32, 48));
  return Buffer.concat([cipher.update(wrapped.subarray(48)), cipher.final()]);
}
