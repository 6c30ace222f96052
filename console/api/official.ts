import { useUsage } from './use-usage.ts';

/** The network of official numbers: it connects by credentials, and lacks what `lacks.ts` of its driver lists. */
export const OFFICIAL = 'whatsapp-cloud';

/** Whether an instance is an official number. Agents may not read instances, but the usage names their networks. */
export function useIsOfficial(instanceId: string): boolean {
  const { data: usage } = useUsage();
  return (
    usage?.instances.some(({ instance_id: id, driver }) => id === instanceId && driver === OFFICIAL) ?? false
  );
}
