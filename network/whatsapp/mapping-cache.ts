/** Maximum entries; each contact has two, one per name. */
const ENTRIES_MAX = 10_000;

/**
 * Maps phones to anonymous ids and the reverse; keeps the last used. Replaces the library's cache, which
 * starts a timer of three days at each lookup; a timer keeps the transaction in which it was started in
 * memory, with all keys read there.
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

  /** Forgets the names that lead to this one. */
  forget(other: string): void {
    for (const [name, known] of this.#entries) if (known === other) this.#entries.delete(name);
  }

  clear(): void {
    this.#entries.clear();
  }
}
