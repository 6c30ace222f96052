import { drawQrPicture } from '../../../platform/qr-picture.ts';

/**
 * The text of a PIX code: a BR Code, which is EMV's merchant-presented QR (id, length, value) with a CRC16
 * at its end (Banco Central do Brasil, "Manual do BR Code"). Amount in cents; `txid` letters and digits.
 */
export function brCode(input: {
  pixKey: string;
  merchantName: string;
  merchantCity: string;
  amountCents: number;
  txid: string;
}): string {
  const account = field('00', 'br.gov.bcb.pix') + field('01', input.pixKey);
  const text =
    field('00', '01') +
    // 12: to be used once.
    field('01', '12') +
    field('26', account) +
    field('52', '0000') +
    // 986: real, by ISO 4217.
    field('53', '986') +
    field('54', (input.amountCents / 100).toFixed(2)) +
    field('58', 'BR') +
    field('59', plain(input.merchantName, 25)) +
    field('60', plain(input.merchantCity, 15)) +
    field('62', field('05', input.txid.replace(/[^A-Za-z0-9]/g, '').slice(0, 25))) +
    // The checksum covers its own id and length.
    '6304';
  return text + crc16(text);
}

/** A PNG of the code, in base64. */
export function drawQrCode(text: string): string {
  return drawQrPicture(text, { maxWidthPx: 256, marginModules: 2 }).toString('base64');
}

function field(id: string, value: string): string {
  return id + String(value.length).padStart(2, '0') + value;
}

function plain(text: string, max: number): string {
  const ascii = text.normalize('NFD').replace(/[^\x20-\x7e]/g, '');
  return ascii.slice(0, max);
}

/** CRC-16/CCITT-FALSE: polynomial 0x1021, from 0xFFFF; four hex digits. */
export function crc16(text: string): string {
  let crc = 0xffff;
  for (const byte of Buffer.from(text, 'utf8')) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1)
      crc = ((crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff) >>> 0;
  }
  return crc.toString(16).toUpperCase().padStart(4, '0');
}
