import { once } from 'node:events';

/** Controls a process started with `--inspect` over its debugging protocol. */
export interface Inspector {
  /** Bytes of JavaScript objects in use after a full collection. */
  heapAfterCollection(): Promise<number>;
  close(): void;
}

/** `port` is that of `--inspect`, on this machine. */
export async function inspect(port: number): Promise<Inspector> {
  const listed = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await listed.json()) as { webSocketDebuggerUrl: string }[];
  if (!target) throw new Error('nothing to inspect');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, 'open');
  const asked = new Map<number, (answer: Answer) => void>();
  socket.addEventListener('message', ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer;
    asked.get(answer.id)?.(answer);
    asked.delete(answer.id);
  });
  let lastId = 0;
  async function ask<T>(method: string): Promise<T> {
    lastId += 1;
    const id = lastId;
    const answered = new Promise<Answer>((resolve) => asked.set(id, resolve));
    socket.send(JSON.stringify({ id, method }));
    const { result, error } = await answered;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result as T;
  }
  return {
    async heapAfterCollection() {
      // Twice: the second one collects objects released by finalizers.
      for (let nth = 0; nth < 2; nth += 1) await ask('HeapProfiler.collectGarbage');
      return (await ask<{ usedSize: number }>('Runtime.getHeapUsage')).usedSize;
    },
    close: () => socket.close(),
  };
}

interface Answer {
  id: number;
  result?: unknown;
  error?: { message: string };
}
