import type { Instance as InstanceView } from '@posthorn/contract/messaging/instances.ts';
import type { Instance } from './entities.ts';

/** An instance as the API shows it. */
export function instanceView(instance: Instance): InstanceView {
  return {
    id: instance.id,
    company_id: instance.companyId,
    name: instance.name,
    driver: instance.driver,
    state: instance.state,
    phone: instance.phone ?? null,
    jid: instance.jid ?? null,
    push_name: instance.pushName ?? null,
    connected_at: instance.connectedAt?.toISOString() ?? null,
    last_error: instance.lastError ?? null,
    restriction: instance.restriction ?? null,
    proxy: instance.proxyShown ?? null,
    created_at: instance.createdAt.toISOString(),
    updated_at: instance.updatedAt.toISOString(),
  };
}
