import type { z } from 'zod/v4';

/** Comments by dotted path, as the printer asks for them. */
export type Docs = Map<string, string>;

/** Adds the contract's description of each field below `path`. */
export function addFieldDocs(docs: Docs, schema: unknown, path: string): void {
  const inner = unwrap(schema);
  const shape = inner?._zod.def.shape;
  for (const option of inner?._zod.def.options ?? []) addFieldDocs(docs, option, path);
  for (const [name, field] of Object.entries(shape ?? {})) {
    const at = path === '' ? name : `${path}.${name}`;
    const text = describe(field);
    if (text) docs.set(at, comment([text]));
    addFieldDocs(docs, field, at);
  }
}

/** A comment of one line where one line is enough. */
export function comment(lines: readonly string[]): string {
  const safe = lines.map((line) => line.replaceAll('*/', '* /'));
  if (safe.length === 1) return `/** ${safe[0]} */`;
  return `/**\n${safe.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */`;
}

/** The text without its comments: two records of one shape have the same one. */
export function withoutDocs(text: string): string {
  return text.replace(/\/\*\*[\s\S]*?\*\/\n/g, '');
}

interface Node {
  meta?: () => { description?: string } | undefined;
  _zod: {
    def: {
      shape?: Record<string, z.ZodType>;
      options?: unknown[];
      innerType?: Node;
      element?: Node;
      in?: Node;
    };
  };
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && '_zod' in value;
}

/** The outermost description counts: `.optional().meta(...)` wraps the schema that it describes. */
function describe(schema: unknown): string | undefined {
  for (let at = schema; isNode(at); at = inside(at)) {
    const description = at.meta?.()?.description;
    if (description) return description;
  }
  return undefined;
}

/** The schema inside optional, nullable, default, pipe and array wrappers. */
function unwrap(schema: unknown): Node | null {
  let at: unknown = schema;
  while (isNode(at)) {
    const next = inside(at);
    if (!next) return at;
    at = next;
  }
  return null;
}

function inside({ _zod: { def } }: Node): Node | undefined {
  return def.innerType ?? def.element ?? def.in;
}
