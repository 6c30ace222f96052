/** Runs steps one at a time, in the order they were requested. */
export interface StepChain {
  /** Rejects if `work` does, for callers that must know; the failure is reported and blocks no later step. */
  tryStep(what: string, work: () => Promise<void>): Promise<void>;
  /** For steps without a waiting caller. */
  step(what: string, work: () => Promise<void>): void;
  /** Resolves when every step requested so far has ended. */
  settled(): Promise<void>;
}

/**
 * Waits, and resolves to the number of refusals so far if the failed step is to run again; null ends the step. `refusals` is what
 * it resolved to after the previous failure, at first 0.
 */
export type StepRetry = (
  err: unknown,
  what: string,
  refusals: number,
) => Promise<{ refusals: number } | null>;

/** `retry` applies to `step` only. Later steps wait until the step has succeeded or ended. */
export function createStepChain(
  onFailure: (err: unknown, what: string) => void,
  retry?: StepRetry,
): StepChain {
  let chain: Promise<void> = Promise.resolve();

  function tryStep(what: string, work: () => Promise<void>): Promise<void> {
    const done = chain.then(work);
    chain = done.catch((err) => onFailure(err, what));
    return done;
  }

  async function untilDone(what: string, work: () => Promise<void>, retryAfter: StepRetry): Promise<void> {
    for (let refusals = 0; ; ) {
      try {
        return await work();
      } catch (err) {
        const again = await retryAfter(err, what, refusals);
        if (!again) throw err;
        refusals = again.refusals;
      }
    }
  }

  return {
    tryStep,
    step(what, work) {
      void tryStep(what, retry ? () => untilDone(what, work, retry) : work).catch(() => undefined);
    },
    settled: () => chain,
  };
}
