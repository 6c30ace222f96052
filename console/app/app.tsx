import { MantineProvider } from '@mantine/core';
import {
  MutationCache,
  type Query,
  QueryCache,
  QueryClient,
  QueryClientProvider,
} from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import type { i18n } from 'i18next';
import { useState } from 'react';
import { I18nextProvider } from 'react-i18next';
import { ApiContext } from '../api/api-context.ts';
import type { Auth } from '../session/auth.ts';
import { askAgainAfterMs, isPassing } from '../session/connection.ts';
import { Resume } from './resume.tsx';
import type { ConsoleRouter } from './router.tsx';
import { styleNonce } from './style-nonce.ts';
import { theme } from './theme.ts';

/** How long an answer counts as fresh; events report changes meanwhile. */
const FRESH_MS = 5_000;
/**
 * Sends requests even if the browser says that it is offline, which says nothing about a service on the same machine or
 * network. The library would otherwise pause all requests silently; our connection banner names the fault.
 */
const NETWORK_MODE = 'always';

export function App({ auth, router, i18n }: { auth: Auth; router: ConsoleRouter; i18n: i18n }) {
  const [queries] = useState(() => createQueries(auth));
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={styleNonce}>
      <I18nextProvider i18n={i18n}>
        <QueryClientProvider client={queries}>
          <ApiContext value={auth}>
            <Resume auth={auth}>
              <RouterProvider router={router} />
            </Resume>
          </ApiContext>
        </QueryClientProvider>
      </I18nextProvider>
    </MantineProvider>
  );
}

/** The SDK retries temporary failures for a moment; an open page keeps asking after that. */
function createQueries(auth: Auth): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError(error, query) {
        auth.noteError(error);
        if (isPassing(error)) setTimeout(() => askAgain(query), askAgainAfterMs(error));
      },
    }),
    mutationCache: new MutationCache({ onError: auth.noteError }),
    defaultOptions: {
      queries: { retry: false, staleTime: FRESH_MS, networkMode: NETWORK_MODE },
      mutations: { retry: false, networkMode: NETWORK_MODE },
    },
  });
}

/** Asks again unless no component uses the query any more, or another one has asked already. */
function askAgain(query: Query<unknown, unknown, unknown>): void {
  if (!query.isActive() || query.state.error === null || query.state.fetchStatus !== 'idle') return;
  query.fetch().catch(() => undefined);
}
