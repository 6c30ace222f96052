import { useQueryClient } from '@tanstack/react-query';
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useAuthState } from '../api/api-context.ts';

/** Shows its children only to a signed-in user. When the user signs out, the fetched data is removed. */
export function SignedIn() {
  const { user, ended } = useAuthState();
  const queries = useQueryClient();
  const userId = user?.user_id;
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs again for another person
  useEffect(() => () => queries.removeQueries({ predicate: isNoSession }), [userId, queries]);
  return user ? <Outlet /> : <ToSignIn keeps={ended !== 'left'} />;
}

function isNoSession({ queryKey }: { queryKey: readonly unknown[] }): boolean {
  return queryKey[0] !== 'session';
}

/**
 * Leads to the sign-in page, with the requested address unless the user signed out. The address is kept in state,
 * because it changes while this component is still mounted.
 */
function ToSignIn({ keeps }: { keeps: boolean }) {
  const navigate = useNavigate();
  const asked = useRouterState({ select: ({ location }) => location.pathname + location.searchStr });
  const [next] = useState(keeps && asked !== '/' ? asked : undefined);
  useEffect(() => void navigate({ to: '/login', search: { next }, replace: true }), [navigate, next]);
  return null;
}
