/** Runs steps one at a time, in the order they were requested. */
export interface StepChain {
  /** Rejects if `work` does, for callers that must know; the failure is reported and blocks no later step. */
  tryStep(what: string, work: () => Promise<void>): Promise<void>;
  /** For steps without a waiting caller: the next look at the row tries again. */
  step(what: string, work: () => Promise<void>): void;
  /** Resolves when every step requested so far has ended. */
  settled(): Promise<void>;
}

export function createStepChain(onFailure: (err: unknown, what: string) => void): StepChain {
  let chain: Promise<void> = Promise.resolve();
  function tryStep(what: string, work: () => Promise<void>): Promise<void> {
    const done = chain.then(work);
    chain = done.catch((err) => onFailure(err, what));
    return done;
  }
  return {
    tryStep,
    step: (what, work) => void tryStep(what, work).catch(() => undefined),
    settled: () => chain,
  };
}
