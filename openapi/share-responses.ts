import { STATUS_CODES } from 'node:http';
import type { Json } from './json.ts';

type Operations = Record<string, Record<string, { responses: Record<string, Json> }>>;

/**
 * Moves error answers shared by several operations into components, in place: otherwise most of the document
 * would be the same 401, 429, 500 and 503. Named after the status, and numbered if a status has several sets
 * of codes.
 */
export function shareResponses(paths: Json): Json {
  const all = Object.values(paths as Operations).flatMap((item) => Object.values(item));
  const uses = new Map<string, number>();
  for (const { text } of errors(all)) uses.set(text, (uses.get(text) ?? 0) + 1);
  const shared: Json = {};
  const names = new Map<string, string>();
  for (const { operation, status, response, text } of errors(all)) {
    if (uses.get(text) === 1) continue;
    let name = names.get(text);
    if (!name) {
      name = freeName((STATUS_CODES[status] ?? status).replace(/\W/g, ''), shared);
      names.set(text, name);
      shared[name] = response;
    }
    operation.responses[status] = { $ref: `#/components/responses/${name}` };
  }
  return shared;
}

function errors(operations: { responses: Record<string, Json> }[]) {
  return operations.flatMap((operation) =>
    Object.entries(operation.responses)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, response]) => ({
        operation,
        status,
        response,
        text: `${status} ${JSON.stringify(response)}`,
      })),
  );
}

function freeName(base: string, taken: Json): string {
  if (!(base in taken)) return base;
  let number = 2;
  while (`${base}${number}` in taken) number += 1;
  return `${base}${number}`;
}
