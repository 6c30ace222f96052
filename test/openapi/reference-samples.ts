import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { leaveOptionalOut } from '@posthorn/server/http/reference-samples.ts';
// The page's own generator: the version is that of @scalar/api-reference.
import { generateCodeSnippet } from '@scalar/blocks/code-example';
import type { Document, Found } from '../support/openapi-documents.ts';

const run = promisify(execFile);

/** The page's placeholder for a credential that nobody has entered. */
export const NO_CREDENTIAL = 'YOUR_SECRET_TOKEN';

/** A document as the page draws it. */
export function drawn(document: Document): Document {
  return leaveOptionalOut(structuredClone(document));
}

/** The sample of an operation of a drawn document, with curl; `ids` replace the examples in its path. */
export function sampleOf(
  document: Document,
  { path: template, method, operation }: Found,
  options: { url: string; ids?: Readonly<Record<string, string>> },
): string {
  const replaced: [from: string, to: string][] = [];
  const parameters = operation.parameters
    .map((each) => (each.$ref ? document.components.parameters?.[each.$ref.split('/').at(-1)!] : each))
    .map((each) => {
      const id = each?.in === 'path' ? options.ids?.[String(each.name)] : undefined;
      if (id === undefined) return each;
      replaced.push([String((each as { example?: unknown }).example), id]);
      return { ...each, example: id };
    });
  const schemes = Object.keys(operation.security[0] ?? {});
  const sample = generateCodeSnippet({
    clientId: 'shell/curl',
    customCodeSamples: [],
    operation: { ...operation, parameters },
    method,
    path: template,
    server: { url: options.url },
    securitySchemes: schemes.map((name) => document.components.securitySchemes?.[name]),
    // With the options of the page.
    defaultDisabledParameters: true,
  } as unknown as Parameters<typeof generateCodeSnippet>[0]);
  // Bodies contain the ids of paths; short ones could be any text.
  return replaced
    .filter(([from]) => from.length > 10)
    .reduce((text, [from, to]) => text.replaceAll(`"${from}"`, `"${to}"`), sample ?? '');
}

/** Pastes a sample into a shell, in a folder with every file that it reads. */
export async function paste(sample: string): Promise<{ status: number; code: string; text: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'posthorn-samples-'));
  try {
    for (const [, file] of sample.matchAll(/=@([\w.-]+)/g))
      writeFileSync(path.join(folder, file!), '%PDF-1.4\n%%EOF\n');
    // A stream never ends by itself: its answer is known by then.
    const watched = `curl() { command curl -sS --max-time 20 -o body -w '%{http_code}' "$@"; }\n${sample}\n`;
    const told = await run('/bin/sh', ['-c', watched], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    );
    const text = readBody(path.join(folder, 'body'));
    const code = /"error_code":"(\w+)"/.exec(text)?.[1] ?? '';
    return { status: Number(told.stdout), code, text };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readBody(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
