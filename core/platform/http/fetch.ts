let loading: Promise<unknown> | undefined;

/**
 * Node's own `fetch` over the client of the undici package. The client inside of Node 24 (undici 7.29) throws where nobody can
 * catch it when a server resets a connection whose body nobody reads at that moment: that ends the process.
 */
export async function fetch(...request: Parameters<typeof globalThis.fetch>): Promise<Response> {
  loading ??= load();
  await loading;
  return globalThis.fetch(...request);
}

/**
 * Sets the client for every `fetch` of this process. Loading the package is not enough: Node's client stays where something
 * as small as `new Headers()` came first.
 */
async function load(): Promise<void> {
  const { Agent, setGlobalDispatcher } = await import('undici');
  setGlobalDispatcher(new Agent());
}
