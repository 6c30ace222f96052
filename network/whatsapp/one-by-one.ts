/**
 * Keeps the order of arrival. The library starts on a frame or a message before finishing the previous one,
 * so packed frames are overtaken while they are unpacked, messages whose sender must be looked up by those of
 * known senders, and messages that waited for the session by live ones.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ITEM_BYTES, type SessionIntake, sizeOf } from './intake.ts';
import type { LibrarySocket, WireNode } from './library-types.ts';
import { childrenOf } from './wire/nodes.ts';

/**
 * After this long the other sessions of the process have their turn. Decryption is a chain of promises, which lets no
 * other work in between: the messages of one read of the socket took 0.2 s, those of a flood seconds.
 */
const TURN_MS = 5;

/** Frames that the library starts on at once and that others may send in any number. */
const AT_ONCE = ['CB:receipt', 'CB:notification', 'CB:call'];
const OF_GROUPS = 'w:gp2';

/**
 * Makes the library handle frames, and the encrypted parts of messages, one after the other. Frames that wait or are
 * being handled count as held by the session.
 */
export function handleOneByOne(ws: LibrarySocket['ws'], intake: SessionIntake): void {
  lineUp<unknown>(ws, intake, 'message');
  lineUp<WireNode>(ws, intake, 'CB:message', sealedPartsOf);
  for (const event of AT_ONCE) {
    replaceListeners<WireNode>(ws, event, (listen) => (told) => {
      const listenToAll = async () => {
        for (const part of changesIn(told)) await listen(part);
      };
      return held(intake, told, listenToAll);
    });
  }
}

/** The changes of a group that one notification names, each in its own: the library reads the first alone. */
function changesIn(node: WireNode): WireNode[] {
  const changes = node.attrs.type === OF_GROUPS ? childrenOf(node) : [];
  if (changes.length < 2) return [node];
  // The library confirms each, and what has no id is not confirmed: the last one stands for all.
  return changes.map((change, nth) => {
    const attrs = nth === changes.length - 1 ? node.attrs : { ...node.attrs, id: undefined };
    return { ...node, attrs, content: [change] };
  });
}

async function held(intake: SessionIntake, told: unknown, handle: () => unknown): Promise<void> {
  const release = intake.hold(ITEM_BYTES + sizeOf(told));
  try {
    await handle();
  } finally {
    release();
  }
}

/**
 * The library queues messages marked as `offline` separately from the others. It also accepts plain text,
 * which only channels use, from any sender: the operator of the network could write in any name.
 */
function sealedPartsOf(node: WireNode): WireNode {
  const { offline: _, ...attrs } = node.attrs;
  if (!Array.isArray(node.content)) return { ...node, attrs };
  const content = (node.content as readonly WireNode[]).filter(({ tag }) => tag !== 'plaintext');
  return { ...node, attrs, content };
}

/** Each listener finishes one event before it gets the next. */
function lineUp<T>(
  ws: LibrarySocket['ws'],
  intake: SessionIntake,
  event: string,
  prepare = (told: T): T => told,
): void {
  replaceListeners<T>(ws, event, (listen) => {
    let line: Promise<unknown> = Promise.resolve();
    let sinceMs = 0;
    async function handle(told: T): Promise<void> {
      // Frames do not wait for a turn: they may bring an answer that a caller waits for.
      if (event !== 'message' && performance.now() - sinceMs >= TURN_MS) {
        await nextTurn();
        sinceMs = performance.now();
      }
      await listen(prepare(told));
    }
    return (told) => {
      const before = line;
      const done = held(intake, told, () => before.then(() => handle(told)));
      line = done.catch(() => undefined);
      return done;
    };
  });
}

type Listener<T> = (told: T) => unknown;

function replaceListeners<T>(
  ws: LibrarySocket['ws'],
  event: string,
  replaced: (listen: Listener<T>) => Listener<T>,
): void {
  const listeners = ws.rawListeners(event);
  ws.removeAllListeners(event);
  for (const listen of listeners)
    ws.on(
      event,
      replaced((told) => listen.call(ws, told) as unknown),
    );
}
