import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectRoot } from '@posthorn/test/support/process.ts';
import { parse, parseAllDocuments } from 'yaml';

export const deployDir = path.join(projectRoot, 'deploy');

// biome-ignore lint/suspicious/noExplicitAny: documents of other people's schemas, looked at field by field
export type Document = any;

export const readDeployed = (file: string) => readFileSync(path.join(deployDir, file), 'utf8');

/** Reads `NAME=value` lines; comments and empty lines are left out. */
export function readEnvFile(file: string): Record<string, string> {
  const lines = readDeployed(file).matchAll(/^([A-Z_]+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}

/** The compose file, its variables not replaced. */
export const readCompose = (file: string): Document => parse(readDeployed(file), { merge: true });

/** Every resource of deploy/kubernetes except the kustomization. */
export function readKubernetes(): Document[] {
  return kubernetesFiles().flatMap((file) =>
    parseAllDocuments(readDeployed(`kubernetes/${file}`)).map((document) => document.toJS()),
  );
}

export function kubernetesFiles(): string[] {
  return globSync('*.yaml', { cwd: path.join(deployDir, 'kubernetes') })
    .filter((file) => file !== 'kustomization.yaml')
    .sort();
}

export interface Unit {
  file: string;
  /** The values of each option, in order. */
  options: Record<string, string[]>;
}

export function readUnits(): Unit[] {
  return globSync('*.service', { cwd: path.join(deployDir, 'systemd') })
    .sort()
    .map((file) => {
      const options: Record<string, string[]> = {};
      for (const [, name = '', value = ''] of readDeployed(`systemd/${file}`).matchAll(/^(\w+)=(.*)$/gm)) {
        options[name] ??= [];
        options[name].push(value);
      }
      return { file, options };
    });
}

/** A variable of a compose file: `${NAME:?}` has to be given, `${NAME:-default}` need not. */
const VARIABLE = /\$\{(\w+)(?::([?-])([^}]*))?\}/g;

export interface Variable {
  name: string;
  isRequired: boolean;
  fallback: string;
}

export function variablesOf(text: string): Variable[] {
  const code = text.replace(/^\s*#.*$/gm, '');
  return [...code.matchAll(VARIABLE)].map(([, name = '', kind, rest = '']) => ({
    name,
    isRequired: kind === '?',
    fallback: kind === '-' ? rest : '',
  }));
}

/** Fills in the variables of one value as compose does. Throws for a required one that is missing or empty. */
export function interpolate(value: string, given: Readonly<Record<string, string>>): string {
  return value.replace(VARIABLE, (_, name: string, kind: string | undefined, rest = '') => {
    if (given[name]) return given[name];
    if (kind === '?') throw new Error(`${name} is required`);
    return kind === '-' ? rest : '';
  });
}
