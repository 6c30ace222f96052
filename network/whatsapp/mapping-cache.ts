/** Whom it holds at most, by both of their names. */
const ENTRIES_MAX = 10_000;

/**
 * Phones by anonymous ids and the reverse, those that were asked for last. In place of the library's own: that one
 * begins a timer of three days with each look-up, and a timer holds on to the transaction in which it was begun, with
 * all keys that were read there.
 */
export class MappingCache {
  readonly #entries = new Map<string, string>();

  get(name: string): string | undefined {
    const found = this.#entries.get(name);
    if (found !== undefined) this.set(name, found);
    return found;
  }

  set(name: string, other: string): void {
    this.#entries.delete(name);
    this.#entries.set(name, other);
    if (this.#entries.size > ENTRIES_MAX) this.#entries.delete(this.#entries.keys().next().value!);
  }

  clear(): void {
    this.#entries.clear();
  }
}
