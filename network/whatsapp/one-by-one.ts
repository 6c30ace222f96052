/**
 * The order of what arrives. The library begins with a frame or a message before it has ended with the one before:
 * what is packed is overtaken while it is unpacked, a message whose sender it looks up by those of known ones, and what
 * waited for the session by what comes live.
 */
import type { LibrarySocket, WireNode } from './library-types.ts';

/** Has the library handle frames, and what is sealed of messages, one after the other. */
export function handleOneByOne(ws: LibrarySocket['ws']): void {
  lineUp<unknown>(ws, 'message');
  lineUp<WireNode>(ws, 'CB:message', sealedPartsOf);
}

/**
 * The library keeps a line of its own for what is marked as `offline`, beside that of the others. And it takes plain
 * words, which channels alone have, for those of any sender: whoever runs the network could write in any name.
 */
function sealedPartsOf(node: WireNode): WireNode {
  const { offline: _, ...attrs } = node.attrs;
  if (!Array.isArray(node.content)) return { ...node, attrs };
  const content = (node.content as readonly WireNode[]).filter(({ tag }) => tag !== 'plaintext');
  return { ...node, attrs, content };
}

/** Each listener is done with what it was told before it is told the next. */
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
