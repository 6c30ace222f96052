import path from 'node:path';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { errorsOf } from '@posthorn/contract/route-meta.ts';
import type { AppRoute, AppRouter } from '@ts-rest/core';
import ts from 'typescript';
import { createPrinter } from './print-type.ts';

const SDK = path.resolve(import.meta.dirname, '..');

/** The text of a contract-types.ts that imports nothing of the contract: every type written out. */
export function writeContractTypes(): string {
  const program = ts.createProgram([path.join(SDK, 'contract-types.ts')], compilerOptions());
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path.join(SDK, 'contract-types.ts')) as ts.SourceFile;
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(source) as ts.Symbol);
  const names = new Map<string, string>();
  const docs: Record<string, Map<string, string>> = {
    ContractMethods: routeDocs(messagingContract),
    BillingMethods: routeDocs(billingContract),
  };
  const kept = new Set(['CallOptions']);
  const lines = [
    '/** Written by the build from the contract. */',
    "import type { CallOptions } from './call-options.ts';",
  ];
  // Records before what is made of them, so that their names are known there. The shortest first: a record
  // inside another one is shorter than it.
  const plain = createPrinter({ checker, nameOf: () => undefined, kept });
  const types = exported
    .map((symbol) => ({ name: symbol.name, type: declaredType(checker, symbol) }))
    .map((entry) => ({ ...entry, length: plain.print(entry.type).length }))
    .sort((a, b) => a.length - b.length);
  for (const { name, type } of types) {
    const nameOf = (text: string) => names.get(text) || undefined;
    const printer = createPrinter({ checker, nameOf, kept, docOf: (at) => docs[name]?.get(at) });
    const text = printer.print(type);
    lines.push(text.startsWith('{') ? `export interface ${name} ${text}` : `export type ${name} = ${text};`);
    // Two records of one shape: a reference would say the wrong one as often as the right one.
    names.set(text, names.has(text) ? '' : name);
  }
  return `${lines.join('\n\n')}\n`;
}

/** Throws with what differs when the written-out types do not mean what the contract means. */
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
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  return checker.getDeclaredTypeOfSymbol(target);
}

/** What editors show on a method: what it does, where it goes and how it can fail. */
function routeDocs(contract: AppRouter): Map<string, string> {
  return new Map(listRoutes(contract).map(({ name, route }) => [name, routeDoc(route)]));
}

function routeDoc(route: AppRoute): string {
  const lines = [
    `${route.summary}.`,
    ...(route.description ? ['', route.description] : []),
    '',
    `\`${route.method} ${route.path}\``,
    '',
    `@throws PosthornError: ${errorsOf(route).join(', ')}`,
  ];
  return `/**\n${lines.map((line) => ` * ${line.replaceAll('*/', '* /')}`.trimEnd()).join('\n')}\n */`;
}
