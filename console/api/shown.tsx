import type { ReactNode } from 'react';
import { Loaded, type Loading } from '../components/loaded.tsx';
import { ApiError } from './api-error.tsx';

/** Shows the result of a query; if it failed, the reason and a button that asks again. */
export function Shown<T>(props: {
  query: Loading<T> & { refetch(): unknown };
  children: (data: T) => ReactNode;
}) {
  const { query, children } = props;
  return (
    <Loaded query={query} failed={(error) => <ApiError error={error} onRetry={() => void query.refetch()} />}>
      {children}
    </Loaded>
  );
}
