const LATE = Symbol('late');

/** Gives what `work` gives, or what `onTimeout` gives or throws once `timeoutMs` are over. The work itself goes on. */
export async function withTimeout<T, L>(
  work: Promise<T>,
  timeoutMs: number,
  onTimeout: () => L,
): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, LATE);
  });
  try {
    const outcome = await Promise.race([work, late]);
    return outcome === LATE ? onTimeout() : outcome;
  } finally {
    clearTimeout(timer);
  }
}
