import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { EVENT_TYPES, eventPayloads } from '@posthorn/contract/events.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { PATH_PARAMS } from '@posthorn/contract/path-params.ts';
import { errorsOf, metaOf } from '@posthorn/contract/route-meta.ts';
import type { AppRoute, AppRouter } from '@ts-rest/core';
import ts from 'typescript';
import { EXAMPLES } from './examples.ts';
import { addFieldDocs, comment, type Docs, withoutDocs } from './field-docs.ts';
import { createPrinter } from './print-type.ts';

const SDK = path.resolve(import.meta.dirname, '..');

/** The text of a contract-types.ts that imports nothing of the contract: every type written out. */
export async function writeContractTypes(): Promise<string> {
  const program = ts.createProgram([path.join(SDK, 'contract-types.ts')], compilerOptions());
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path.join(SDK, 'contract-types.ts')) as ts.SourceFile;
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(source) as ts.Symbol);
  const names = new Map<string, string>();
  const docs: Record<string, Docs> = {
    ContractMethods: routeDocs(messagingContract),
    BillingMethods: routeDocs(billingContract),
    EventDataByType: eventDocs(),
  };
  for (const symbol of exported) docs[symbol.name] ??= await recordDocs(checker, symbol);
  const kept = new Set(['CallOptions', 'Call', 'FileSource']);
  const lines = [
    '/** Written by the build from the contract. */',
    "import type { Call, CallOptions } from './call-options.ts';\nimport type { FileSource } from './file.ts';",
  ];
  // Prints records before the types that use them, so that those can use their names. The shortest comes first: a
  // record inside another one is shorter.
  const plain = createPrinter({ checker, nameOf: () => undefined, kept });
  const types = exported
    .map((symbol) => ({ name: symbol.name, type: declaredType(checker, symbol) }))
    .map((entry) => ({ ...entry, length: plain.print(entry.type).length }))
    .sort((a, b) => a.length - b.length);
  for (const { name, type } of types) {
    const nameOf = (text: string) => names.get(withoutDocs(text)) || undefined;
    const printer = createPrinter({ checker, nameOf, kept, docOf: (at) => docs[name]?.get(at) });
    const text = printer.print(type);
    const isRecord = text.startsWith('{') && !type.isUnion();
    lines.push(isRecord ? `export interface ${name} ${text}` : `export type ${name} = ${text};`);
    // Two records of one shape get no name: a reference could name the wrong one.
    const shape = withoutDocs(text);
    names.set(shape, names.has(shape) ? '' : name);
  }
  return `${lines.join('\n\n')}\n`;
}

/** Throws, with the differences, if the written-out types do not equal those of the contract. */
export function checkContractTypes(writtenFile: string): void {
  const probe = path.join(path.dirname(writtenFile), 'same.ts');
  const names = exportedNames(writtenFile);
  const text = [
    `import type * as made from './${path.basename(writtenFile)}';`,
    `import type * as meant from '${path.relative(path.dirname(probe), path.join(SDK, 'contract-types.ts'))}';`,
    'type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;',
    ...names.map((name) => `export const same${name}: Same<made.${name}, meant.${name}> = true;`),
  ].join('\n');
  const host = ts.createCompilerHost(compilerOptions());
  const { readFile, fileExists } = host;
  host.readFile = (file) => (path.resolve(file) === probe ? text : readFile(file));
  host.fileExists = (file) => path.resolve(file) === probe || fileExists(file);
  const program = ts.createProgram([probe], compilerOptions(), host);
  const files = [probe, writtenFile].map((file) => program.getSourceFile(file));
  const faults = files.flatMap((file) => program.getSemanticDiagnostics(file));
  if (faults.length === 0) return;
  throw new Error(`the written types differ from the contract:\n${ts.formatDiagnostics(faults, host)}`);
}

function exportedNames(file: string): string[] {
  const text = ts.sys.readFile(file) ?? '';
  return [...text.matchAll(/^export (?:interface|type) (\w+)/gm)].map((match) => match[1] as string);
}

function compilerOptions(): ts.CompilerOptions {
  const file = path.resolve(SDK, '../tsconfig.json');
  const { config } = ts.readConfigFile(file, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, path.dirname(file));
  return { ...options, incremental: false, tsBuildInfoFile: undefined, noEmit: true };
}

function declaredType(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Type {
  return checker.getDeclaredTypeOfSymbol(targetOf(checker, symbol));
}

function targetOf(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** The comments that editors show on a method and on each field of its input and its answer. */
function routeDocs(contract: AppRouter): Docs {
  const docs: Docs = new Map();
  for (const { name, route } of listRoutes(contract)) {
    docs.set(name, routeDoc(route, contract === messagingContract ? EXAMPLES[name] : undefined));
    for (const [, param] of route.path.matchAll(/:(\w+)/g)) {
      const text = PATH_PARAMS[param as string]?.[0];
      if (text) docs.set(`${name}.${param}`, comment([text]));
    }
    if (metaOf(route).operation) {
      docs.set(`${name}.idempotencyKey`, comment([KEY]));
      docs.set(`${name}.force`, comment([FORCE]));
    }
    if ('query' in route) addFieldDocs(docs, route.query, `${name}.query`);
    if ('body' in route) addFieldDocs(docs, route.body, `${name}.body`);
    if (metaOf(route).raw === 'multipart') docs.set(`${name}.body.file`, comment([FILE]));
    for (const [status, answer] of Object.entries(route.responses)) {
      if (status.startsWith('2')) addFieldDocs(docs, answer, name);
    }
  }
  return docs;
}

const KEY =
  "Made by the client when absent. The same key again creates no second message: it answers the first one's ids.";
const FORCE = 'Passes the guard and passive mode by: `X-Force-Send: true`.';
const FILE = 'In place of naming the media, its bytes: a Buffer, Uint8Array, Blob, path or stream.';

function routeDoc(route: AppRoute, example: readonly string[] = []): string {
  return comment([
    `${route.summary}.`,
    ...(route.description ? ['', route.description] : []),
    '',
    `\`${route.method} ${route.path}\``,
    '',
    `@throws PosthornError: ${errorsOf(route).join(', ')}`,
    ...(example.length > 0 ? ['', '@example', ...example] : []),
  ]);
}

function eventDocs(): Docs {
  const docs: Docs = new Map();
  for (const type of EVENT_TYPES) addFieldDocs(docs, eventPayloads[type], type);
  return docs;
}

/** The descriptions in the schema of a body, or of a record that is declared as `z.infer<typeof schema>`. */
async function recordDocs(checker: ts.TypeChecker, symbol: ts.Symbol): Promise<Docs> {
  const docs: Docs = new Map();
  const declaration = targetOf(checker, symbol).declarations?.find(ts.isTypeAliasDeclaration);
  if (!declaration || !ts.isTypeReferenceNode(declaration.type)) return docs;
  const { typeName, typeArguments: [argument] = [] } = declaration.type;
  if (!argument || !ts.isTypeQueryNode(argument)) return docs;
  const [schema, ...members] = schemaPath(checker, argument.exprName);
  const file = schema?.valueDeclaration?.getSourceFile().fileName;
  if (!schema || !file) return docs;
  const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  const found = members.reduce((at, { name }) => (at as Record<string, unknown>)[name], module[schema.name]);
  addFieldDocs(docs, found, '');
  if (typeName.getText() === 'MediaBody') docs.set('file', comment([FILE]));
  return docs;
}

/** For `imageBody.json`: the export of a module, and the member of that. */
function schemaPath(checker: ts.TypeChecker, name: ts.EntityName): ts.Symbol[] {
  const before = ts.isQualifiedName(name) ? schemaPath(checker, name.left) : [];
  const symbol = checker.getSymbolAtLocation(ts.isQualifiedName(name) ? name.right : name);
  return symbol ? [...before, targetOf(checker, symbol)] : before;
}
