/** A run that takes longer than this is a failure itself. */
const PATIENCE_MS = 10_000;
/** An outcome older than this is not used: the caller waits for a new one. */
const STALE_AFTER_MS = 30_000;

/**
 * One run at a time, and the next one `intervalMs` after its end at the earliest. Callers meanwhile get the
 * previous outcome: a disk that is slow for some seconds must not take every server out of rotation.
 */
export function atMostEvery(intervalMs: number, check: () => Promise<void>): () => Promise<void> {
  let known: { outcome: Promise<void>; endedAtMs: number } | null = null;
  let running: { outcome: Promise<void>; begunAtMs: number } | null = null;

  function run(): { outcome: Promise<void>; begunAtMs: number } {
    const outcome = check();
    const end = () => {
      known = { outcome, endedAtMs: performance.now() };
      running = null;
    };
    outcome.then(end, end);
    return { outcome, begunAtMs: performance.now() };
  }

  return () => {
    const nowMs = performance.now();
    if (!running && (!known || nowMs - known.endedAtMs >= intervalMs)) running = run();
    if (!running) return known!.outcome;
    const isKnown = known && nowMs - known.endedAtMs < STALE_AFTER_MS;
    return isKnown && nowMs - running.begunAtMs < PATIENCE_MS ? known!.outcome : running.outcome;
  };
}
