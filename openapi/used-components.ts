import type { Json } from './json.ts';

type Components = Record<string, Json>;

/** The components a document refers to, directly or through others, and its security schemes. */
export function usedComponents(document: Json, all: Components): Components {
  const used = new Set<string>();
  const schemes = JSON.stringify(document.paths);
  const visit = (part: unknown): void => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/([^"]+)"/g)) {
      if (used.has(name!)) continue;
      used.add(name!);
      const [kind, key] = name!.split('/') as [string, string];
      const target = all[kind]?.[key];
      if (target === undefined) throw new Error(`#/components/${name} does not exist`);
      visit(target);
    }
  };
  visit(document);
  const isUsed = (kind: string, key: string) =>
    kind === 'securitySchemes'
      ? schemes.includes(`{"${key}":[]`) || schemes.includes(`"${key}":[]}`)
      : used.has(`${kind}/${key}`);
  return Object.fromEntries(
    Object.entries(all).map(([kind, parts]) => [
      kind,
      Object.fromEntries(Object.entries(parts).filter(([key]) => isUsed(kind, key))),
    ]),
  );
}
