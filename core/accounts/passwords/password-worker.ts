/** The thread that computes argon2id, for password.ts. */
import { randomBytes } from 'node:crypto';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';

export type PasswordJob = { password: string } | { password: string; stored: string | null };
export type PasswordResult = { hash: string } | { right: boolean } | { error: string };

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/**
 * On Linux each thread has its own priority: logins wait for users who are logged in, and a storm of logins leaves
 * the processor to everything else. Elsewhere this would lower the whole process.
 */
if (process.platform === 'linux') setPriority(10);

/** The hash that is verified for accounts without one, so that they take the same time. */
const nobodys = hashSync(randomBytes(32), COST);

parentPort!.on('message', (job: PasswordJob) => {
  parentPort!.postMessage(run(job));
});

function run(job: PasswordJob): PasswordResult {
  try {
    if (!('stored' in job)) return { hash: hashSync(job.password, COST) };
    return { right: verifySync(job.stored ?? nobodys, job.password) && job.stored !== null };
  } catch (err) {
    return { error: (err as Error).message };
  }
}
