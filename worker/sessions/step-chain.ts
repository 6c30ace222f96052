/** Runs steps one at a time, in the order they were asked for. */
export interface StepChain {
  /** Rejects as `work` does, for those who must know; the failure is told and holds up no later step. */
  tryStep(what: string, work: () => Promise<void>): Promise<void>;
  /** For steps that nobody waits for: the next look at the row tries again. */
  step(what: string, work: () => Promise<void>): void;
  /** Resolves when every step asked for so far has ended. */
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
