import { createAsaasProvider } from '@posthorn/core/billing/provider/asaas.ts';
import type { PaymentProvider } from '@posthorn/core/billing/provider/port.ts';
import type { AsaasServer } from './asaas-server.ts';

export const API_KEY = '$aact_hmlg_key';
/** For calls that are answered, however long this process, which also answers them, is blocked meanwhile. */
const ANSWERED_MS = 30_000;

/** The provider at a local server. It waits only `timeoutMs` while a fault is set that keeps calls waiting. */
export function asaasProviderOf(asaas: AsaasServer, timeoutMs: number): PaymentProvider {
  const provider = (timeoutMs: number) =>
    createAsaasProvider({ apiKey: API_KEY, baseUrl: asaas.url, timeoutMs });
  const [brief, patient] = [provider(timeoutMs), provider(ANSWERED_MS)];
  return new Proxy(patient, {
    get: (_, name) => Reflect.get(asaas.keepsWaiting() ? brief : patient, name),
  });
}
