/** Settings that a program leaves to the environment it runs in: Node.js, Bun and Deno have one, browsers have none. */

/** Undefined if there is no such variable, or if the program may not read it. */
export function variable(name: string): string | undefined {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    return process?.env?.[name] || undefined;
  } catch {
    // Deno needs a permission for this, which may be missing.
    return undefined;
  }
}

interface Service {
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  token?: unknown;
  session?: unknown;
}

/**
 * The options with the address of `urlVariable` and the key of POSTHORN_API_KEY where they name none. The key goes only
 * to the address in the environment, never to one that the program names itself.
 */
export function withEnvironment<T extends Service>(
  options: T | undefined,
  caller: string,
  urlVariable: string,
): T & { baseUrl: string } {
  const { baseUrl, apiKey, token, session } = (options ?? {}) as Service;
  if (baseUrl !== undefined) return options as T & { baseUrl: string };
  const url = variable(urlVariable);
  if (url === undefined) {
    throw new TypeError(
      `${caller} needs the address of the service: ${caller}({ baseUrl: 'https://...', apiKey: 'svc_...' }), or ${urlVariable} and POSTHORN_API_KEY in the environment`,
    );
  }
  const isNamed = apiKey !== undefined || token !== undefined || session !== undefined;
  const key = isNamed ? apiKey : variable('POSTHORN_API_KEY');
  return { ...options, baseUrl: url, ...(key === undefined ? {} : { apiKey: key }) } as T & {
    baseUrl: string;
  };
}
