import { setTimeout as delay } from 'node:timers/promises';
import { type Client, PosthornError } from '@posthorn/sdk/index.ts';
import type { Context } from '../context.ts';

const SCANS = 5;
const PAUSE_MS = 500;

/**
 * Scans the QR of an instance with this virtual phone of the sandbox network. The QR changes every 20 s: one that
 * expires between our request and the scan is read again.
 */
export async function scan(context: Context, client: Client, instanceId: string, phone: string) {
  const { signal } = context;
  const sandbox = context.sandbox();
  for (let scans = 1; ; scans += 1) {
    const { qr } = await client.instances.qr({ instanceId }, { signal });
    try {
      return await sandbox.call({ method: 'POST', path: '/pair', body: { qr, phone } });
    } catch (error) {
      const isExpired = error instanceof PosthornError && error.code === 'PAIRING_NOT_FOUND';
      if (!isExpired || scans === SCANS) throw error;
    }
    await delay(PAUSE_MS, undefined, { signal });
  }
}

/** A mobile number like those that the sandbox network assigns, with eight random digits. */
export function freshPhone(): string {
  return `55119${Math.floor(10_000_000 + Math.random() * 90_000_000)}`;
}
