import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';

/** The server of files whose reference names none: histories, and parts of the account's state. */
export const MEDIA_HOST = 'mmg.whatsapp.net';

/** A certificate for 127.0.0.1 that is its own authority, for servers of tests that speak TLS. PEM. */
export function selfSigned(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = sequence(oid('2a8648ce3d040302'));
  const name = sequence(tlv(0x31, sequence(oid('550403'), tlv(0x0c, Buffer.from('simulated network')))));
  const day = 86_400_000;
  const validity = sequence(utcTime(Date.now() - day), utcTime(Date.now() + 30 * day));
  const hosts = ['localhost', MEDIA_HOST].map((host) => tlv(0x82, Buffer.from(host)));
  const names = sequence(...hosts, tlv(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = sequence(
    sequence(
      oid('551d13'),
      tlv(0x01, Buffer.from([0xff])),
      tlv(0x04, sequence(tlv(0x01, Buffer.from([0xff])))),
    ),
    sequence(oid('551d11'), tlv(0x04, names)),
  );
  const serial = Buffer.concat([Buffer.from([0x01]), randomBytes(8)]);
  const toSign = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, serial),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ format: 'der', type: 'spki' }),
    tlv(0xa3, extensions),
  );
  const signature = createSign('sha256').update(toSign).sign(privateKey);
  const der = sequence(toSign, algorithm, tlv(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function tlv(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 0x80
      ? Buffer.from([length])
      : length < 0x100
        ? Buffer.from([0x81, length])
        : Buffer.from([0x82, length >> 8, length & 0xff]);
  return Buffer.concat([Buffer.from([tag]), size, content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
  return tlv(0x06, Buffer.from(hex, 'hex'));
}

function utcTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14);
  return tlv(0x17, Buffer.from(`${text}Z`));
}
