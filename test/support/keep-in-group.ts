import { after } from 'node:test';

interface Closable {
  close(): Promise<void>;
}

const kept = new Map<string, Promise<Closable>>();
let isGroup = false;

/** Lets the files of this process share what {@link keepInGroup} makes, and closes that after the last of them. */
export function keepForAllFiles(): void {
  isGroup = true;
  after(async () => {
    for (const thing of kept.values()) await (await thing).close();
  });
}

/**
 * A thing that takes seconds to start and that files can use one after another. In a group of files the first one makes it,
 * and `release` leaves it to the next; a file in a process of its own closes it.
 */
export async function keepInGroup<Thing extends Closable>(
  name: string,
  make: () => Promise<Thing>,
): Promise<{ thing: Thing; release: () => Promise<void> }> {
  if (!isGroup) {
    const thing = await make();
    return { thing, release: () => thing.close() };
  }
  const making = (kept.get(name) as Promise<Thing> | undefined) ?? make();
  kept.set(name, making);
  try {
    return { thing: await making, release: async () => undefined };
  } catch (err) {
    kept.delete(name);
    throw err;
  }
}
