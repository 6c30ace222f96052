import { waitFor } from '../support/process.ts';
import type { Sending, TestInstance } from '../support/sending.ts';

/** Waits until the network has sent this instance all its news. */
export async function settled(pipeline: Sending, { phone }: TestInstance): Promise<void> {
  await waitFor(
    async () => {
      const { accounts } = await pipeline.sandbox.get('/sessions');
      const account = accounts.find((account: { phone: string }) => account.phone === phone);
      return account?.unacked_events === 0;
    },
    30_000,
    { what: 'everything is acknowledged' },
  );
}

/** As the API lists them. */
export async function labelsOnPhone(
  pipeline: Sending,
  { phone }: TestInstance,
): Promise<{ label_id: string; name: string; color: number }[]> {
  const { labels } = await pipeline.sandbox.get(`/phones/${phone}/labels`);
  return labels
    .map(({ label_id, name, color }: { label_id: string; name: string; color: number }) => ({
      label_id,
      name,
      color,
    }))
    .sort((a: { label_id: string }, b: { label_id: string }) => Number(a.label_id) - Number(b.label_id));
}
