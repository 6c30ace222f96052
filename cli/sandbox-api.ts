import { createClient, PosthornError, type RawRequest } from '@posthorn/sdk/index.ts';

/** The control API of the sandbox network (ERR-20). Its errors read like those of the service. */
export interface SandboxApi {
  call<T = Record<string, unknown>>(request: RawRequest): Promise<T>;
}

export function createSandboxApi(baseUrl: string, signal: AbortSignal): SandboxApi {
  const client = createClient({ baseUrl, timeoutMs: 15_000 });
  return {
    async call<T>(request: RawRequest) {
      try {
        return await client.request<T>(request, { signal });
      } catch (error) {
        if (!(error instanceof PosthornError) || error.code !== 'NETWORK') throw error;
        // By far the likeliest reason: no sandbox network runs, or it runs on another port.
        const message = `${error.message}; is the sandbox network running? POSTHORN_SANDBOX_URL names another address`;
        throw new PosthornError({ ...error, code: error.code, message, cause: error });
      }
    },
  };
}
