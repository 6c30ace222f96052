import { useQueryClient } from '@tanstack/react-query';
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useAuthState } from '../api/api-context.ts';

/** What lies below is for those who are signed in. Whoever leaves takes what was fetched along. */
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

/** Leads to the sign-in, once, with the address that was asked for, unless one left by oneself: it changes while this is still there. */
function ToSignIn({ keeps }: { keeps: boolean }) {
  const navigate = useNavigate();
  const asked = useRouterState({ select: ({ location }) => location.pathname + location.searchStr });
  const [next] = useState(keeps && asked !== '/' ? asked : undefined);
  useEffect(() => void navigate({ to: '/login', search: { next }, replace: true }), [navigate, next]);
  return null;
}
