import { useEffect, useState } from 'react';

/** Whole seconds until a moment, counted down; 0 once it has come. */
export function useSecondsUntil(at: string): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, Math.ceil((Date.parse(at) - now) / 1_000));
}
