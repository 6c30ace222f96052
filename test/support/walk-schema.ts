import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import type { AppRoute } from '@ts-rest/core';
import type { z } from 'zod/v4';

/** A step to a value inside another: a field's name, `[]` for an item, `{}` for a value of a record. */
export type Step = string;

/** A schema for a part of a request. */
export interface InputSchema {
  /** `messages.sendText body`. */
  name: string;
  route: AppRoute;
  part: 'body' | 'query' | 'headers' | 'path';
  schema: z.ZodType;
}

/** Every schema that judges a part of a request, of both contracts. */
export function inputSchemas(): InputSchema[] {
  return [messagingContract, billingContract].flatMap((contract) =>
    listRoutes(contract).flatMap(({ name, route }) =>
      (
        [
          ['body', 'body' in route ? route.body : undefined],
          ['query', route.query],
          ['path', route.pathParams],
          ...Object.values((route.headers ?? {}) as object).map((header) => ['headers', header] as const),
        ] as const
      ).flatMap(([part, schema]) =>
        isSchema(schema) ? [{ name: `${name} ${part}`, route, part, schema }] : [],
      ),
    ),
  );
}

/** Calls back for a schema and all schemas inside it, with the path to each. */
export function walkSchema(
  schema: z.ZodType,
  look: (schema: z.ZodType, path: readonly Step[]) => void,
  path: readonly Step[] = [],
): void {
  look(schema, path);
  const def = schema.def as unknown as Record<string, unknown>;
  const into = (child: unknown, ...more: Step[]) => {
    if (isSchema(child)) walkSchema(child, look, [...path, ...more]);
  };
  for (const name of ['innerType', 'in', 'out', 'left', 'right']) into(def[name]);
  for (const option of (def.options as unknown[] | undefined) ?? []) into(option);
  for (const [at, item] of ((def.items as unknown[] | undefined) ?? []).entries()) into(item, String(at));
  for (const [name, field] of Object.entries((def.shape as object | undefined) ?? {})) into(field, name);
  if (def.type === 'lazy') into((def.getter as () => unknown)());
  into(def.element, '[]');
  into(def.rest, '[]');
  into(def.keyType, '{key}');
  into(def.valueType, '{}');
  into(def.catchall, '{}');
}

function isSchema(value: unknown): value is z.ZodType {
  return typeof value === 'object' && value !== null && 'safeParse' in value;
}
