import { type Link, openLink } from './link.ts';

/** A way to a server over which each answer is delayed, as by an overloaded database. */
export interface SlowLink extends Link {
  /** From now on, bytes from the server are held for so long; bytes that are held already keep their time. */
  setDelay(ms: number): void;
}

export async function openSlowLink(target: { host: string; port: number }): Promise<SlowLink> {
  let delayMs = 0;
  const link = await openLink(target, (near, far) => {
    let freeAtMs = 0;
    far.on('data', (chunk) => {
      // In order, also when the delay falls meanwhile.
      freeAtMs = Math.max(freeAtMs, performance.now() + delayMs);
      setTimeout(() => near.writable && near.write(chunk), Math.max(0, freeAtMs - performance.now()));
    });
    near.on('data', (chunk) => far.write(chunk));
  });
  return {
    ...link,
    setDelay(ms) {
      delayMs = ms;
    },
  };
}
