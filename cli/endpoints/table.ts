import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes, type NamedRoute } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf, takesBody } from '@posthorn/contract/route-meta.ts';
import { z } from 'zod/v4';
import type { Endpoint, Field } from './endpoint.ts';

/** Every endpoint of both services. The build writes the finished table in place of this module. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...listRoutes(messagingContract).map((route) => endpointOf('messaging', route)),
  ...listRoutes(billingContract).map((route) => endpointOf('billing', route)),
];

function endpointOf(service: Endpoint['service'], { name, route }: NamedRoute): Endpoint {
  const meta = metaOf(route);
  const success = Object.entries(route.responses).find(([status]) => status.startsWith('2'))?.[1];
  const isOther = typeof success === 'object' && success !== null && 'contentType' in success;
  return {
    name: service === 'billing' ? `billing.${name}` : name,
    service,
    method: route.method,
    path: route.path,
    summary: meta.summary,
    auth: meta.auth,
    keyed: meta.operation !== undefined,
    takesFile: meta.raw === 'multipart',
    answer: !isOther && meta.raw !== 'binary' ? 'json' : meta.raw === 'text' ? 'text' : 'response',
    query: 'query' in route ? fieldsOf(route.query) : [],
    body: takesBody(route) && 'body' in route ? fieldsOf(route.body) : null,
  };
}

interface JsonField {
  type?: string;
  enum?: string[];
  anyOf?: JsonField[];
}

function fieldsOf(schema: unknown): Field[] {
  const shape = (schema as { shape?: Record<string, z.ZodType> }).shape ?? {};
  const json = z.toJSONSchema(schema as z.ZodType, { io: 'input', unrepresentable: 'any' });
  const required = new Set(json.required ?? []);
  return Object.entries((json.properties ?? {}) as Record<string, JsonField>).map(([name, field]) => {
    const values = field.enum;
    const isList = field.type === 'array' || (field.anyOf ?? []).some(({ type }) => type === 'array');
    const described = shape[name]?.meta?.()?.description;
    const help = described ?? (values ? values.join(', ') : name.replaceAll('_', ' '));
    return { name, isRequired: required.has(name), isList, help, ...(values ? { values } : {}) };
  });
}
