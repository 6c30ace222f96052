/** Looks at one thing a role needs; resolves or returns true when it is there. */
export type Check = () => boolean | Promise<unknown>;

/** Thrown by a check that knows what is wrong and may tell everybody; the message stands in /ready. */
export class NotReady extends Error {
  override name = 'NotReady';
}

export interface ReadinessReport {
  ready: boolean;
  /** Each dependency by name: `ok`, or what is wrong with it. */
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
  const checks = Object.fromEntries(entries);
  if (deps.isDraining()) checks.process = 'draining';
  return { ready: Object.values(checks).every((outcome) => outcome === 'ok'), checks };
}

/** Never the text of an arbitrary error: /ready is public, and drivers name hosts and users in theirs. */
async function outcomeOf(check: Check): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'timeout'>((resolve) => {
    timer = setTimeout(() => resolve('timeout'), CHECK_TIMEOUT_MS);
  });
  try {
    const outcome = await Promise.race([(async () => check())(), timeout]);
    if (outcome === 'timeout') return 'does not answer';
    return outcome === false ? 'down' : 'ok';
  } catch (err) {
    return err instanceof NotReady ? err.message : 'down';
  } finally {
    clearTimeout(timer);
  }
}
