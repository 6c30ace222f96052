import { PosthornError, type QrCode } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import { browserTime } from '../../api/browser-time.ts';

const RENEW_AFTER_MS = 500;
const ASK_AGAIN_MS = 2_000;

/**
 * The QR code to pair with, renewed as it expires; its `expires_at` is by the clock of this browser. Null while the network
 * has not given one yet, and when the pairing has just ended.
 */
export function useQr(instanceId: string) {
  const client = useClient();
  return useQuery<QrCode | null>({
    queryKey: ['instances', instanceId, 'qr'],
    queryFn: async ({ signal }) => {
      try {
        const { data, response } = await client.instances
          .qr({ instanceId }, { signal, retries: 0 })
          .withResponse();
        return { ...data, expires_at: browserTime(data.expires_at, response.headers) };
      } catch (error) {
        if (error instanceof PosthornError && [409, 503].includes(error.status)) return null;
        throw error;
      }
    },
    refetchInterval: ({ state }) => (state.data ? untilRenewed(state.data) : ASK_AGAIN_MS),
    gcTime: 0,
  });
}

function untilRenewed({ expires_at }: QrCode): number {
  return Math.max(ASK_AGAIN_MS, Date.parse(expires_at) - Date.now() + RENEW_AFTER_MS);
}

/** A new code to type on the phone, at each call. */
export function usePairingCode(instanceId: string) {
  const client = useClient();
  return useMutation({
    mutationFn: (phone: string) => client.instances.pairingCode({ instanceId, body: { phone } }),
  });
}
