import { basename } from 'node:path';
import { parseAssignments } from '../assignments.ts';
import { UsageError } from '../fault.ts';
import { readStdin, readStdinText } from '../stdin.ts';
import { checkFields } from './call-endpoint.ts';
import type { Endpoint } from './endpoint.ts';

type Reading = Parameters<typeof readStdin>[0];
type BodyInput = { fields?: unknown; body?: unknown; file?: unknown };

/** The body made of `--body`, `name=value` and `--file`. */
export async function bodyOf(
  context: Reading,
  endpoint: Endpoint,
  { fields, body, file }: BodyInput,
): Promise<Record<string, unknown> | undefined> {
  const whole = typeof body === 'string' ? parseBody(body === '-' ? await readStdinText(context) : body) : {};
  const given = { ...whole, ...parseAssignments((fields as string[] | undefined) ?? []) };
  checkFields(endpoint, Object.keys(given));
  if (typeof file === 'string') return { ...given, file: await fileOf(context, file) };
  return Object.keys(given).length > 0 ? given : undefined;
}

function parseBody(json: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(json);
    if (typeof body === 'object' && body !== null && !Array.isArray(body))
      return body as Record<string, unknown>;
  } catch {
    // Invalid JSON is refused like JSON that is no object.
  }
  throw new UsageError('the body must be a JSON object');
}

export async function fileOf(context: Reading, path: string): Promise<File> {
  if (path === '-') return new File([new Uint8Array(await readStdin(context))], 'stdin');
  const { openAsBlob, promises, statSync } = await import('node:fs');
  try {
    // Opened as a blob, a pipe such as `<(command)` would be empty, and a folder would raise no error.
    const content = statSync(path).isFile()
      ? await openAsBlob(path)
      : new Uint8Array(await promises.readFile(path));
    return new File([content], basename(path));
  } catch (cause) {
    throw new UsageError(`${path}: cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}
