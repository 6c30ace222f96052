/** Tells the other tabs of this browser about sign-ins and sign-outs. */
export interface Tabs {
  tellIn(userId: number): void;
  tellOut(): void;
}

const CHANNEL = 'posthorn-session';

type Told = { in: number } | 'out';

export function createTabs(on: { onIn: (userId: number) => void; onOut: () => void }): Tabs {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<Told>) => {
    if (data === 'out') on.onOut();
    else on.onIn(data.in);
  };
  const tell = (told: Told) => channel.postMessage(told);
  return { tellIn: (userId) => tell({ in: userId }), tellOut: () => tell('out') };
}
