/**
 * Keeps the order of arrival. The library starts on a frame or a message before finishing the previous one,
 * so packed frames are overtaken while they are unpacked, messages whose sender must be looked up by those of
 * known senders, and messages that waited for the session by live ones.
 */
import type { LibrarySocket, WireNode } from './library-types.ts';

/** Makes the library handle frames, and the encrypted parts of messages, one after the other. */
export function handleOneByOne(ws: LibrarySocket['ws']): void {
  lineUp<unknown>(ws, 'message');
  lineUp<WireNode>(ws, 'CB:message', sealedPartsOf);
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
function lineUp<T>(ws: LibrarySocket['ws'], event: string, prepare = (told: T): T => told): void {
  const listeners = ws.rawListeners(event);
  ws.removeAllListeners(event);
  for (const listen of listeners) {
    let line: Promise<unknown> = Promise.resolve();
    ws.on(event, (told: T) => {
      const done = line.then(() => listen.call(ws, prepare(told)));
      line = done.catch(() => undefined);
      return done;
    });
  }
}
