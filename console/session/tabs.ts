/** Tells the other tabs of this browser about sign-ins and sign-outs. */
export interface Tabs {
  tellIn(): void;
  tellOut(): void;
}

const CHANNEL = 'posthorn-session';

export function createTabs(on: { onIn: () => void; onOut: () => void }): Tabs {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (data === 'in') on.onIn();
    if (data === 'out') on.onOut();
  };
  return { tellIn: () => channel.postMessage('in'), tellOut: () => channel.postMessage('out') };
}
