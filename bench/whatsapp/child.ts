import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';

/** A process of this benchmark that answers questions over the channel of `fork`. It ends with the one that started it. */
export interface Child {
  pid: number;
  ask<T>(what: string, given?: unknown): Promise<T>;
  stop(): void;
}

interface Question {
  nth: number;
  what: string;
  given: unknown;
}
type Answer = { nth: number; answer: unknown } | { nth: number; error: string };

/** `program` is a file of this folder that calls {@link answerQuestions}. */
export function startChild(program: string): Child {
  const child: ChildProcess = fork(path.join(import.meta.dirname, program));
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let asked = 0;
  child.on('message', (answer: Answer) => {
    const asker = waiting.get(answer.nth);
    waiting.delete(answer.nth);
    if ('error' in answer) asker?.reject(new Error(`${program}: ${answer.error}`));
    else asker?.resolve(answer.answer);
  });
  child.once('exit', (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`${program} ended with ${code}`));
  });
  return {
    pid: child.pid!,
    ask<T>(what: string, given: unknown = null): Promise<T> {
      asked += 1;
      const asker = Promise.withResolvers<unknown>();
      waiting.set(asked, asker);
      child.send({ nth: asked, what, given } satisfies Question);
      return asker.promise as Promise<T>;
    },
    stop: () => child.disconnect(),
  };
}

/** The side of the child: each question has a function that answers it. */
// biome-ignore lint/suspicious/noExplicitAny: each function says what it is given
export function answerQuestions(answers: Record<string, (given: any) => unknown>): void {
  process.on('message', async ({ nth, what, given }: Question) => {
    try {
      process.send?.({ nth, answer: (await answers[what]!(given)) ?? null } satisfies Answer);
    } catch (err) {
      process.send?.({ nth, error: (err as Error).message } satisfies Answer);
    }
  });
  process.once('disconnect', () => process.exit());
}

/** Milliseconds by the machine's monotonic clock, the same in all its processes. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}
