/**
 * Replaces `async_hooks` for the library, which keeps the changes of a transaction of its keys in an
 * `AsyncLocalStorage`. Work that it starts in a transaction and does not wait for would go on with one that is over,
 * and lose its changes. It lost the note that a contact had been given a token, so each text gave one.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** As that of Node.js for asynchronous work, except that the value ends with work that succeeds. */
class EndingStorage<T> {
  readonly #storage = new AsyncLocalStorage<{ value: T | undefined }>();

  getStore(): T | undefined {
    return this.#storage.getStore()?.value;
  }

  /**
   * Work that fails leaves its value to the rest of it: the changes of a transaction that failed are dropped, and must
   * not replace newer keys.
   */
  async run<R>(value: T, work: () => Promise<R>): Promise<R> {
    const current: { value: T | undefined } = { value };
    const result = await this.#storage.run(current, work);
    current.value = undefined;
    return result;
  }
}

export { EndingStorage as AsyncLocalStorage };
