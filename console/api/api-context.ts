import type { Client, Session } from '@posthorn/sdk/index.ts';
import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Auth, AuthState } from '../session/auth.ts';

export const ApiContext = createContext<Auth | null>(null);

export function useAuth(): Auth {
  const auth = useContext(ApiContext);
  if (!auth) throw new Error('no session around this component');
  return auth;
}

export function useClient(): Client {
  return useAuth().client;
}

export function useAuthState(): AuthState {
  const { onChange, state } = useAuth();
  return useSyncExternalStore(onChange, state);
}

/** The signed-in user; works only inside pages that require a sign-in. */
export function useUser(): Session {
  const { user } = useAuthState();
  if (!user) throw new Error('nobody is signed in');
  return user;
}

/** Whether the user may see and change instances, webhooks and other shared resources. The service checks it again. */
export function useMayManage(): boolean {
  const { role, is_superadmin } = useUser();
  return is_superadmin || role === 'owner' || role === 'admin';
}
