import { useEffect, useState, useSyncExternalStore } from 'react';
import { createLiveEvents, type LiveEvents } from '../session/live-events.ts';
import { useAuth } from './api-context.ts';

/** The events of the company, while the calling component is mounted. */
export function useLiveEvents(): LiveEvents | null {
  const auth = useAuth();
  const [live, setLive] = useState<LiveEvents | null>(null);
  useEffect(() => {
    const made = createLiveEvents(auth.client, auth.noteError);
    setLive(made);
    return made.stop;
  }, [auth]);
  return live;
}

export function useIsLive(live: LiveEvents | null): boolean {
  return useSyncExternalStore(live?.onChange ?? never, live?.isOpen ?? no);
}

function never(): () => void {
  return () => undefined;
}

function no(): boolean {
  return false;
}
