import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listen.ts';

/** A way to a server that a test may cut in two, as a partition of the network does. */
export interface BreakableLink {
  port: number;
  /** From now on nothing arrives in either direction: no byte, no end, and no new connection. Nothing is closed. */
  cut(): void;
  /** Ends the cut. `late`: the held bytes arrive now. `lost`: older connections are reset, without the held bytes. */
  heal(what: 'late' | 'lost'): void;
  close(): Promise<void>;
}

interface Passage {
  /** Runs now or, during a cut, after it in order. */
  pass(step: () => void): void;
  open(): void;
  reset(): void;
}

export async function openBreakableLink(target: { host: string; port: number }): Promise<BreakableLink> {
  let isCut = false;
  const passages = new Set<Passage>();

  function makePassage(near: Socket): Passage {
    const held: (() => void)[] = [];
    let far: Socket | undefined;
    const passage: Passage = {
      pass: (step) => (isCut ? void held.push(step) : step()),
      open() {
        for (const step of held.splice(0)) step();
      },
      reset() {
        held.length = 0;
        passages.delete(passage);
        near.resetAndDestroy();
        far?.resetAndDestroy();
      },
    };
    const forget = () => {
      if (near.destroyed && (!far || far.destroyed)) passages.delete(passage);
    };
    for (const event of ['data', 'close'] as const)
      near.on(event, (chunk?: Buffer) =>
        passage.pass(() => {
          // The socket holds the bytes that come before the far side is connected.
          if (chunk instanceof Buffer) far?.write(chunk);
          else far?.destroy();
          forget();
        }),
      );
    near.on('error', () => undefined);
    passage.pass(() => {
      far = connect(target.port, target.host);
      far.on('error', () => undefined);
      far.on('data', (chunk) => passage.pass(() => near.writable && near.write(chunk)));
      far.once('close', () =>
        passage.pass(() => {
          near.destroy();
          forget();
        }),
      );
    });
    return passage;
  }

  const server = createServer((near) => void passages.add(makePassage(near)));
  const port = await listen(server);
  return {
    port,
    cut() {
      isCut = true;
    },
    heal(what) {
      isCut = false;
      for (const passage of passages) what === 'late' ? passage.open() : passage.reset();
    },
    async close() {
      server.close();
      for (const passage of passages) passage.reset();
      await once(server, 'close');
    },
  };
}
