import { withTimeout } from './with-timeout.ts';

/**
 * Looks at one thing that a role needs. Gives true when it is there, or a text when it is there and something about it
 * is worth knowing.
 */
export type Check = () => boolean | string | Promise<unknown>;

/** Thrown by a check that knows the fault and may show it to everybody; /ready contains the message. */
export class NotReady extends Error {
  override name = 'NotReady';
}

export interface ReadinessReport {
  ready: boolean;
  /** Each dependency by name: `ok`, `ok, but` and a remark, or what is wrong with it. */
  checks: Record<string, string>;
}

/** A check that hangs counts as failed after this. */
const CHECK_TIMEOUT_MS = 2_000;

/** Runs every check at the same time; a process that drains is not ready whatever they say. */
export async function checkReadiness(deps: {
  checks: Readonly<Record<string, Check>>;
  isDraining: () => boolean;
}): Promise<ReadinessReport> {
  const entries = await Promise.all(
    Object.entries(deps.checks).map(async ([name, check]) => [name, await outcomeOf(check)] as const),
  );
  const checks = Object.fromEntries(entries.map(([name, { says }]) => [name, says]));
  const isDraining = deps.isDraining();
  if (isDraining) checks.process = 'draining';
  return { ready: !isDraining && entries.every(([, { ok }]) => ok), checks };
}

interface Outcome {
  ok: boolean;
  says: string;
}

function outcomeOf(check: Check): Promise<Outcome> {
  return withTimeout(run(check), CHECK_TIMEOUT_MS, () => ({ ok: false, says: 'does not answer' }));
}

/** Never the text of an arbitrary error: /ready is public, and drivers name hosts and users in theirs. */
async function run(check: Check): Promise<Outcome> {
  try {
    const outcome = await check();
    if (outcome === false) return { ok: false, says: 'down' };
    return { ok: true, says: typeof outcome === 'string' ? `ok, but ${outcome}` : 'ok' };
  } catch (err) {
    return { ok: false, says: err instanceof NotReady ? err.message : 'down' };
  }
}
