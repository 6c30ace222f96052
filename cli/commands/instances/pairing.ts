import type { Client, Instance } from '@posthorn/sdk/index.ts';
import type { Context } from '../../context.ts';
import { CommandError } from '../../fault.ts';
import type { Terminal } from '../../terminal.ts';
import type { QrState } from '../../views/qr-view.ts';
import { createStore } from '../../views/store.ts';
import { waitUntilConnected } from './wait-until-connected.ts';

/** An instance that pairs by itself does so within this time, so no code has to be drawn. */
const PATIENCE_MS = 1_500;

/** Waits until the instance is connected. On a terminal it draws each QR code meanwhile. */
export async function pairOnTerminal(
  context: Context,
  client: Client,
  { id, name }: Pick<Instance, 'id' | 'name'>,
  timeoutMs: number,
): Promise<Instance> {
  const { terminal, signal } = context;
  const deps = { client, signal };
  if (!terminal) return waitUntilConnected(deps, id, timeoutMs);
  const soon = await waitUntilConnected(deps, id, Math.min(PATIENCE_MS, timeoutMs)).catch((error) => {
    if (error instanceof CommandError) return null;
    throw error;
  });
  return soon ?? drawUntilConnected({ client, terminal, signal }, { id, name }, timeoutMs);
}

/** Throws CommandError when the time is over or the user ended the view. */
export async function drawUntilConnected(
  deps: { client: Client; terminal: Terminal; signal: AbortSignal },
  { id, name }: Pick<Instance, 'id' | 'name'>,
  timeoutMs: number,
): Promise<Instance> {
  const { client } = deps;
  const { showQr } = await import('../../views/qr-view.ts');
  const store = createStore<QrState>({ title: `Scan this with the phone for ${name}`, code: null });
  let connected: Instance | null = null;
  await showQr(deps, store, async (signal) => {
    const show = (code: Code) =>
      store.change({ code: { qr: code.qr, expiresAtMs: Date.parse(code.expires_at) } });
    connected = await followCodes({ client, signal }, id, show, timeoutMs);
  });
  if (!connected) throw new CommandError('interrupted', { exitCode: 130 });
  return connected;
}

interface Code {
  qr: string;
  expires_at: string;
}

/** Passes on each QR code of the instance until it is connected. */
export async function followCodes(
  { client, signal }: { client: Client; signal: AbortSignal },
  instanceId: string,
  take: (code: Code) => void,
  timeoutMs: number,
): Promise<Instance> {
  const ending = new AbortController();
  const end = () => ending.abort();
  signal.addEventListener('abort', end, { once: true });
  const codes = (async () => {
    const present = () =>
      void client.instances.qr({ instanceId }, { signal: ending.signal }).then(take, () => undefined);
    const events = client.events.stream({
      instanceId,
      types: ['instance.qr_updated'],
      signal: ending.signal,
      // Events tell of later codes; the present one was announced before the stream opened.
      onOpen: present,
    });
    for await (const { data } of events) take(data);
  })();
  // Waiting continues without codes, and reports any fault itself.
  codes.catch(() => undefined);
  try {
    return await waitUntilConnected({ client, signal }, instanceId, timeoutMs);
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}
