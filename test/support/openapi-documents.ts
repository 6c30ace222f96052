import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export type ServiceName = 'messaging' | 'billing';
export const SERVICES = ['messaging', 'billing'] as const satisfies readonly ServiceName[];

export interface Schema {
  [keyword: string]: unknown;
}
export interface Content {
  [mediaType: string]: { schema?: Schema; example?: unknown };
}
export interface Operation {
  operationId: string;
  tags: string[];
  security: Record<string, unknown>[];
  parameters: { $ref?: string; name: string; in: string; description?: string }[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, { $ref?: string; description?: string; content?: Content }>;
}
export interface Document {
  info: { version: string; description: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks?: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, Schema>>;
}

/** One operation of a document, with its method and path. */
export interface Found {
  path: string;
  method: string;
  operation: Operation;
}

/** A body that is documented as bytes may be of any type: each answer names its own. */
const BYTES = 'application/octet-stream';
const FOLDER = new URL('../../openapi/', import.meta.url);

/** A committed document. */
export function readDocument(service: ServiceName, folder = ''): Document {
  return JSON.parse(readFileSync(new URL(`${folder}${service}.json`, FOLDER), 'utf8')) as Document;
}

export function operationsOf(document: Document): Found[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** Validates values against the schemas of a document; each is compiled when it is first used. */
export class DocumentChecker {
  readonly document: Document;
  readonly #service: ServiceName;
  readonly #ajv = new Ajv2020({ strict: false, validateSchema: false, formats: { binary: true } });
  readonly #validators = new Map<string, ValidateFunction | null>();
  readonly #routes: (Found & { pattern: RegExp })[];

  constructor(service: ServiceName) {
    this.#service = service;
    this.document = readDocument(service);
    // Its types are those of a CommonJS module, whose default is one level deeper.
    (addFormats as unknown as (ajv: Ajv2020) => void)(this.#ajv);
    this.#ajv.addSchema(this.document, service);
    this.#routes = operationsOf(this.document)
      .sort((a, b) => (fixedParts(a.path) > fixedParts(b.path) ? -1 : 1))
      .map((found) => ({ ...found, pattern: patternOf(found.path) }));
  }

  /** The faults of a value by the schema at a place of the document, as text; none when it fits. */
  faultsOf(place: readonly string[], value: unknown): string {
    const pointer = place
      .map((part) => encodeURIComponent(part.replace(/~/g, '~0').replace(/\//g, '~1')))
      .join('/');
    let validate = this.#validators.get(pointer);
    if (!validate) {
      validate = this.#ajv.compile({ $ref: `${this.#service}#/${pointer}` });
      this.#validators.set(pointer, validate);
    }
    return validate(value) ? '' : this.#ajv.errorsText(validate.errors, { separator: '\n' });
  }

  /** Whether the document has an operation for it. */
  knows(method: string, path: string): boolean {
    return this.#find(method, path) !== undefined;
  }

  #find(asked: string, target: string) {
    const [path = ''] = target.split('?', 1);
    const method = asked === 'HEAD' ? 'get' : asked.toLowerCase();
    return this.#routes.find((route) => route.method === method && route.pattern.test(path));
  }

  /** The parts of an answer that the document does not describe; the empty text for none. */
  faultsOfAnswer(answer: {
    method: string;
    path: string;
    status: number;
    type: string;
    /** The parsed JSON; undefined when there was none. */
    body?: unknown;
  }): string {
    const found = this.#find(answer.method, answer.path);
    if (!found) return '';
    const where = ['paths', found.path, found.method, 'responses', String(answer.status)];
    const given = found.operation.responses[answer.status];
    if (!given) return `${found.operation.operationId} answered ${answer.status}, which is not documented`;
    const place = given.$ref ? given.$ref.slice(2).split('/') : where;
    const response = given.$ref ? this.document.components.responses?.[place.at(-1)!] : given;
    const content = response?.content as Content | undefined;
    if (content && BYTES in content) return '';
    const mediaType = answer.type.split(';', 1)[0]!;
    if (answer.body === undefined && (mediaType === '' || !content)) return '';
    if (!content?.[mediaType]?.schema)
      return `${found.operation.operationId} answered ${answer.status} as ${mediaType}, which is not documented`;
    if (answer.body === undefined) return '';
    const faults = this.faultsOf([...place, 'content', mediaType, 'schema'], answer.body);
    return faults && `${found.operation.operationId} ${answer.status}: ${faults}`;
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);
}

/** A text that sorts by the fixed parts of a path, so that `/webhooks/events` goes before `/webhooks/{webhookId}`. */
function fixedParts(path: string): string {
  return path
    .split('/')
    .map((part) => (part.startsWith('{') ? '0' : '1'))
    .join('');
}
