import { defineCommand, many, required, text, toggle } from '../command.ts';
import type { Context } from '../context.ts';
import { bodyOf } from '../endpoints/body-of.ts';
import { callEndpoint } from '../endpoints/call-endpoint.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { ENDPOINTS } from '../endpoints/table.ts';
import { CommandError, UsageError } from '../fault.ts';
import { jsonText } from '../format.ts';
import { didYouMean } from '../similar.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

export const api = defineCommand({
  name: 'api',
  summary: 'Call any endpoint of the contract, with the credentials and retries of other commands',
  details:
    '--instance replaces {instanceId} in the path. Write fields as name=value, or as name:=JSON.\nE.g. msgctl api POST /v1/webhooks url=https://a.example/hook',
  args: {
    method: required(text('method', METHODS.join(', '))),
    path: required(text('path', 'e.g. /v1/instances?limit=5, or a path of the billing service')),
    fields: many('fields', 'fields of the body'),
  },
  flags: {
    body: text('json', 'the whole body; - reads it from a pipe'),
    file: text('path', 'a file for the form field "file"; - reads it from a pipe'),
    idempotencyKey: text('key', 'repeating a send with the same key sends nothing twice'),
    force: toggle('bypass passive mode and the anti-spam guard'),
    billing: toggle('at the billing service, for a path that both have'),
  },
  async run(context, { method: given, path, fields, body, file, idempotencyKey, force, billing }) {
    const method = given.toUpperCase();
    if (!METHODS.includes(method))
      throw new UsageError(`${given} is no method${didYouMean(method, METHODS)}`);
    const filled = /[{:]instanceId\b/.test(path)
      ? path.replace(/\{instanceId\}|:instanceId\b/, await context.instanceId())
      : path;
    const endpoint = endpointAt(method, filled, billing);
    if (endpoint.method === 'DELETE') await context.confirm(`This is ${method} ${filled}`);
    const answer = await callEndpoint(context, endpoint, {
      path: filled,
      body: await bodyOf(context, endpoint, { fields, body, file }),
      idempotencyKey,
      force,
    });
    if (answer instanceof Response) await pipe(answer, context);
    else if (typeof answer === 'string') context.out.raw(Buffer.from(answer));
    else if (answer !== undefined) context.out.show(answer, jsonText(answer, 2));
  },
});

/**
 * The endpoint of a path with real ids in it. If several match, the one with the fewest parameters counts, as in the
 * service.
 */
function endpointAt(method: string, path: string, isBilling: boolean): Endpoint {
  const [bare = ''] = path.split('?');
  const at = ENDPOINTS.filter(({ service }) => !isBilling || service === 'billing').filter((endpoint) =>
    fits(endpoint.path, bare),
  );
  const count = (text: string) => text.split(':').length;
  const [found] = at
    .filter((endpoint) => endpoint.method === method)
    .sort((a, b) => count(a.path) - count(b.path));
  if (found) return found;
  if (at.length > 0) {
    throw new UsageError(`${bare} takes ${[...new Set(at.map((endpoint) => endpoint.method))].join(', ')}`);
  }
  const near = didYouMean(
    bare,
    ENDPOINTS.map((endpoint) => endpoint.path),
  );
  throw new UsageError(`there is no endpoint ${bare}${near}`);
}

function fits(pattern: string, path: string): boolean {
  const segments = path.split('/');
  const wanted = pattern.split('/');
  return (
    wanted.length === segments.length &&
    wanted.every((part, at) => (part.startsWith(':') ? segments[at] !== '' : part === segments[at]))
  );
}

/** Somebody else made the file: a terminal might take its bytes for control sequences. */
async function pipe(response: Response, { out, signal }: Context): Promise<void> {
  if (!response.body) return;
  if (out.columns !== null) {
    await response.body.cancel();
    throw new CommandError('the answer is a file: send it into one, as in > file');
  }
  for await (const chunk of response.body) {
    if (signal.aborted) return;
    out.raw(chunk);
  }
}
