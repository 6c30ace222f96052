import { compareSchemas, type Direction } from './compare-schemas.ts';
import type { Json } from './json.ts';
import { resolve } from './schema-view.ts';

type Named = Record<string, Json>;

/** The changes that break callers of the published document: one sentence per change. */
export function findBreakingChanges(published: Json, present: Json): string[] {
  const documents = { published, present };
  return [
    ...eachOperation(published.paths as Named, present.paths as Named).flatMap(([where, before, after]) =>
      after ? operationChanges(documents, where, before, after) : [`${where} was removed`],
    ),
    ...eachOperation((published.webhooks ?? {}) as Named, (present.webhooks ?? {}) as Named).flatMap(
      ([where, before, after]) =>
        after
          ? contentChanges(documents, `the event ${where}`, {
              before,
              after,
              part: 'requestBody',
              direction: 'out',
            })
          : [`the event ${where} was removed`],
    ),
  ];
}

interface Documents {
  published: Json;
  present: Json;
}

function eachOperation(before: Named, after: Named): [string, Json, Json | undefined][] {
  return Object.entries(before).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Json, Json | undefined] => [
      `${method.toUpperCase()} ${path}`,
      operation as Json,
      after[path]?.[method] as Json | undefined,
    ]),
  );
}

function operationChanges(documents: Documents, where: string, before: Json, after: Json): string[] {
  return [
    ...(before.operationId === after.operationId
      ? []
      : [`${where} is called ${after.operationId} now, no longer ${before.operationId}`]),
    ...securityChanges(where, before, after),
    ...parameterChanges(documents, where, before, after),
    ...(isRequired(after) && !isRequired(before) ? [`${where} needs a body now`] : []),
    ...contentChanges(documents, `${where} body`, { before, after, part: 'requestBody', direction: 'in' }),
    ...responseChanges(documents, where, before, after),
  ];
}

function isRequired({ requestBody }: Json): boolean {
  return (requestBody as Json | undefined)?.required === true;
}

/** Each way of authenticating that was sufficient must still be. */
function securityChanges(where: string, before: Json, after: Json): string[] {
  const ways = ({ security }: Json) =>
    (security as Json[]).map((way) => Object.keys(way).sort().join(' and '));
  const [old, now] = [ways(before), ways(after)];
  if (now.length === 0) return [];
  if (old.length === 0) return [`${where} needs credentials now`];
  return old.filter((way) => !now.includes(way)).map((way) => `${where} no longer takes ${way}`);
}

function parameterChanges(documents: Documents, where: string, before: Json, after: Json): string[] {
  const [old, now] = [parametersOf(documents.published, before), parametersOf(documents.present, after)];
  const added = [...now].filter(([key, { required }]) => required && !old.get(key)?.required);
  const kept = [...old].flatMap(([key, parameter]) => {
    const same = now.get(key);
    if (!same) return [`${where} ${key} is no longer taken`];
    const sides = { ...documents, direction: 'in' as const, seen: new Set<string>() };
    return compareSchemas(sides, `${where} ${key}`, parameter.schema as Json, same.schema as Json);
  });
  return [...added.map(([key]) => `${where} ${key} became required`), ...kept];
}

function parametersOf(document: Json, { parameters }: Json): Map<string, Json> {
  const all = ((parameters ?? []) as Json[]).map((parameter) => resolve(document, parameter));
  // A path parameter may be renamed: it is identified by its position.
  return new Map(
    all.filter(({ in: place }) => place !== 'path').map((each) => [`${each.in} ${each.name}`, each]),
  );
}

/** Ignores error answers: they have many codes, and callers must accept new ones. */
function responseChanges(documents: Documents, where: string, before: Json, after: Json): string[] {
  const [old, now] = [before.responses as Named, after.responses as Named];
  return Object.keys(old)
    .filter((status) => Number(status) < 400)
    .flatMap((status) =>
      now[status]
        ? contentChanges(documents, `${where} ${status}`, {
            before: old,
            after: now,
            part: status,
            direction: 'out',
          })
        : [`${where} no longer answers ${status}`],
    );
}

function contentChanges(
  documents: Documents,
  where: string,
  { before, after, part, direction }: { before: Json; after: Json; part: string; direction: Direction },
): string[] {
  const now = contentOf(documents.present, after[part]);
  return Object.entries(contentOf(documents.published, before[part])).flatMap(([type, { schema }]) => {
    const same = now[type];
    if (!same) return [`${where} is no longer ${type}`];
    const sides = { ...documents, direction, seen: new Set<string>() };
    // JSON is the default and is not named.
    const name = type === 'application/json' ? where : `${where} (${type})`;
    return schema && same.schema ? compareSchemas(sides, name, schema as Json, same.schema as Json) : [];
  });
}

function contentOf(document: Json, part: unknown): Named {
  return part === undefined ? {} : ((resolve(document, part as Json).content ?? {}) as Named);
}
