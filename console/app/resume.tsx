import { Container } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/api-error.tsx';
import type { Auth } from '../session/auth.ts';

/** Resumes the session of the cookies before anything is drawn, so that no page shows a wrong state for a moment. */
export function Resume({ auth, children }: { auth: Auth; children: ReactNode }) {
  const resumed = useQuery({
    queryKey: ['session'],
    queryFn: async () => {
      await auth.resume();
      return true;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (resumed.error)
    return (
      <Container size="xs" pt="xl">
        <ApiError error={resumed.error} onRetry={() => void resumed.refetch()} />
      </Container>
    );
  return resumed.data ? children : null;
}
