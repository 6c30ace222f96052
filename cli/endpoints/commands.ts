/** Commands that come from the contract alone: their words are chosen here, all else follows from the endpoint. */
import { basename } from 'node:path';
import { parseAssignments } from '../assignments.ts';
import { type Command, defineCommand, many, type Param, required, text, toggle } from '../command.ts';
import { UsageError } from '../fault.ts';
import { answered } from '../format.ts';
import { readStdin } from '../stdin.ts';
import { callEndpoint, checkFields } from './call-endpoint.ts';
import type { Endpoint, Field } from './endpoint.ts';
import { fillPath } from './fill-path.ts';
import { ENDPOINTS } from './table.ts';

/** By the words of the command. What destroys says what it does, and asks first. */
const DERIVED: Readonly<Record<string, { endpoint: string; destroys?: string }>> = {
  'account update': { endpoint: 'auth.updateMe' },
  'account delete': {
    endpoint: 'auth.deleteAccount',
    destroys: 'This deletes the company and all its users',
  },
  'password forgot': { endpoint: 'auth.forgotPassword' },
  'password reset': { endpoint: 'auth.resetPassword' },
  'password change': { endpoint: 'auth.changePassword' },
  'email change': { endpoint: 'auth.startEmailChange' },
  'email confirm': { endpoint: 'auth.confirmEmailChange' },
  'oauth complete': { endpoint: 'oauth.completeSignup' },
  'users list': { endpoint: 'users.list' },
  'users create': { endpoint: 'users.create' },
  'users update': { endpoint: 'users.update' },
  'users remove': { endpoint: 'users.remove', destroys: 'This removes the user' },
  'audit list': { endpoint: 'audit.list' },
  'admin companies': { endpoint: 'admin.listCompanies' },
  'admin suspend': { endpoint: 'admin.suspendCompany', destroys: 'This suspends the company' },
  'admin reactivate': { endpoint: 'admin.reactivateCompany' },
  'admin instances': { endpoint: 'admin.listInstances' },
  'admin ip-reputation': { endpoint: 'admin.ipReputation' },
  'admin feedback': { endpoint: 'feedback.list' },
  'admin feedback-state': { endpoint: 'feedback.update' },
  'playground show': { endpoint: 'playground.show' },
  'playground send': { endpoint: 'playground.send' },
  'playground message': { endpoint: 'playground.message' },
  feedback: { endpoint: 'feedback.give' },
  'admin billing-metrics': { endpoint: 'billing.admin.metrics' },
  'admin provider-events': { endpoint: 'billing.admin.listEvents' },
  'admin reprocess': { endpoint: 'billing.admin.reprocessEvent' },
  'instances rename': { endpoint: 'instances.update' },
  'message list': { endpoint: 'messages.list' },
  'message pin': { endpoint: 'messages.pin' },
  'message vote': { endpoint: 'messages.votePoll' },
  'message star': { endpoint: 'messages.star' },
  'scheduled create': { endpoint: 'scheduled.create' },
  'scheduled list': { endpoint: 'scheduled.list' },
  'scheduled cancel': { endpoint: 'scheduled.remove' },
  'status text': { endpoint: 'status.postText' },
  'status image': { endpoint: 'status.postImage' },
  'status video': { endpoint: 'status.postVideo' },
  'status audio': { endpoint: 'status.postAudio' },
  'status reply': { endpoint: 'status.reply' },
  'status list': { endpoint: 'status.list' },
  'status get': { endpoint: 'status.get' },
  'status views': { endpoint: 'status.views' },
  'status privacy': { endpoint: 'status.privacy' },
  'chats list': { endpoint: 'chats.list' },
  'chats get': { endpoint: 'chats.get' },
  'chats read': { endpoint: 'chats.read' },
  'chats archive': { endpoint: 'chats.archive' },
  'chats pin': { endpoint: 'chats.pin' },
  'chats mute': { endpoint: 'chats.mute' },
  'contacts list': { endpoint: 'contacts.list' },
  'contacts get': { endpoint: 'contacts.get' },
  'contacts check': { endpoint: 'contacts.check' },
  'contacts block': { endpoint: 'contacts.block', destroys: 'This blocks the contact' },
  'contacts unblock': { endpoint: 'contacts.unblock', destroys: 'This lets the contact write again' },
  'labels list': { endpoint: 'labels.list' },
  'labels create': { endpoint: 'labels.create' },
  'labels update': { endpoint: 'labels.update' },
  'labels delete': {
    endpoint: 'labels.remove',
    destroys: 'This deletes the label, and takes it off all chats and messages',
  },
  'labels chats': { endpoint: 'labels.listChats' },
  'labels add-to-chat': { endpoint: 'labels.addToChat' },
  'labels remove-from-chat': {
    endpoint: 'labels.removeFromChat',
    destroys: 'This takes the label off the chat',
  },
  'labels add-to-message': { endpoint: 'labels.addToMessage' },
  'labels remove-from-message': {
    endpoint: 'labels.removeFromMessage',
    destroys: 'This takes the label off the message',
  },
  'notes list': { endpoint: 'notes.list' },
  'notes create': { endpoint: 'notes.create' },
  'notes update': { endpoint: 'notes.update' },
  'notes delete': { endpoint: 'notes.remove', destroys: 'This deletes the note' },
  'groups create': { endpoint: 'groups.create' },
  'groups list': { endpoint: 'groups.list' },
  'groups get': { endpoint: 'groups.get' },
  'groups update': { endpoint: 'groups.update' },
  'groups participants': { endpoint: 'groups.changeParticipants' },
  'groups invite': { endpoint: 'groups.invite' },
  'groups revoke-invite': {
    endpoint: 'groups.revokeInvite',
    destroys: 'This voids the invite link of the group',
  },
  'groups join': { endpoint: 'groups.join' },
  'groups leave': { endpoint: 'groups.leave', destroys: 'This takes the instance out of the group' },
  'presence set': { endpoint: 'presence.set' },
  'presence subscribe': { endpoint: 'presence.subscribe' },
  'profile get': { endpoint: 'profile.get' },
  'profile update': { endpoint: 'profile.update' },
  'business profile': { endpoint: 'business.profile' },
  'business catalog': { endpoint: 'business.catalog' },
  'business collections': { endpoint: 'business.collections' },
  'lids get': { endpoint: 'lids.get' },
  'queue count': { endpoint: 'queue.count' },
  'webhooks rotate-secret': {
    endpoint: 'webhooks.rotateSecret',
    destroys: 'This ends the secret of the webhook in 24 hours',
  },
  'webhooks test': { endpoint: 'webhooks.test' },
  'webhooks replay': { endpoint: 'webhooks.retryLog' },
  'deliveries replay': { endpoint: 'deliveries.retryBulk' },
  'deliveries events': { endpoint: 'deliveries.events' },
  'deliveries instance-events': { endpoint: 'deliveries.instanceEvents' },
  'deliveries stuck': { endpoint: 'deliveries.stuck' },
  'deliveries metrics': { endpoint: 'deliveries.metrics' },
  'deliveries instance-metrics': { endpoint: 'deliveries.instanceMetrics' },
  'deliveries logs': { endpoint: 'deliveries.logs' },
  'deliveries company-logs': { endpoint: 'deliveries.companyLogs' },
  'events ticket': { endpoint: 'events.ticket' },
  metrics: { endpoint: 'health.metrics' },
  'openapi document': { endpoint: 'openapi.document' },
  'openapi page': { endpoint: 'openapi.page' },
  'openapi script': { endpoint: 'openapi.script' },
  'billing health': { endpoint: 'billing.health.health' },
  'billing ready': { endpoint: 'billing.health.ready' },
  'billing metrics': { endpoint: 'billing.health.metrics' },
  'billing openapi': { endpoint: 'billing.openapi.document' },
  'billing openapi-page': { endpoint: 'billing.openapi.page' },
};

export const derivedCommands: readonly Command[] = Object.entries(DERIVED).map(
  ([name, { endpoint, destroys }]) => commandOf(name, endpointNamed(endpoint), destroys),
);

function endpointNamed(name: string): Endpoint {
  const found = ENDPOINTS.find((endpoint) => endpoint.name === name);
  if (!found) throw new Error(`there is no endpoint ${name}`);
  return found;
}

function commandOf(name: string, endpoint: Endpoint, destroys: string | undefined): Command {
  const params = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, param]) => param as string);
  const own = params.filter((param) => param !== 'instanceId');
  const flags: Record<string, Param<unknown>> = {};
  for (const field of endpoint.query)
    if (field.name !== 'instance_id') flags[camel(field.name)] = flagOf(field);
  if (endpoint.keyed) {
    flags.idempotencyKey = text('key', 'repeating a command with the same key does nothing twice');
    flags.force = toggle('bypass passive mode and the anti-spam guard');
  }
  if (endpoint.body !== null) flags.body = text('json', 'the whole body; - reads it from a pipe');
  if (endpoint.takesFile) flags.file = text('path', 'the file to send; - reads it from a pipe');
  return defineCommand({
    name,
    endpoints: [endpoint.name],
    summary: endpoint.summary,
    details: detailsOf(endpoint),
    args: {
      ...Object.fromEntries(own.map((param) => [param, required(text(param, 'of what is meant'))])),
      ...(endpoint.body === null ? {} : { fields: many('fields', 'of its body, name=value or name:=JSON') }),
    } as Record<string, Param<unknown>>,
    flags,
    ...(destroys === undefined ? {} : { destroys }),
    async run(context, input: Record<string, unknown>) {
      const filled = await fill(endpoint.path, input, () => context.instanceId());
      const query: Record<string, unknown> = {};
      for (const field of endpoint.query) {
        const named = () => (field.isRequired ? context.instanceId() : context.namedInstanceId());
        const given = field.name === 'instance_id' ? await named() : input[camel(field.name)];
        if (field.isRequired && given === undefined)
          throw new UsageError(`--${kebab(field.name)} is required`);
        if (!Array.isArray(given) || given.length > 0) query[field.name] = given;
      }
      const answer = await callEndpoint(context, endpoint, {
        path: filled,
        query,
        body: await bodyOf(context, endpoint, input),
        idempotencyKey: input.idempotencyKey as string | undefined,
        force: input.force as boolean | undefined,
      });
      context.out.show(answer ?? { done: true }, answered(answer));
    },
  });
}

type BodyInput = { fields?: unknown; body?: unknown; file?: unknown };

/** From `--body`, from `name=value`, and from `--file`. */
export async function bodyOf(
  context: Parameters<typeof readStdin>[0],
  endpoint: Endpoint,
  { fields, body, file }: BodyInput,
): Promise<Record<string, unknown> | undefined> {
  const whole =
    typeof body === 'string' ? parseBody(body === '-' ? String(await readStdin(context)) : body) : {};
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
    // The same as JSON of another kind.
  }
  throw new UsageError('the body must be a JSON object');
}

export async function fileOf(context: Parameters<typeof readStdin>[0], path: string): Promise<File> {
  if (path === '-') return new File([new Uint8Array(await readStdin(context))], 'stdin');
  const { openAsBlob, promises, statSync } = await import('node:fs');
  try {
    // Opened as a blob, a pipe such as `<(command)` would be empty, and a folder no fault.
    const content = statSync(path).isFile()
      ? await openAsBlob(path)
      : new Uint8Array(await promises.readFile(path));
    return new File([content], basename(path));
  } catch (cause) {
    throw new UsageError(`${path}: cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

async function fill(
  path: string,
  input: Record<string, unknown>,
  instanceId: () => Promise<string>,
): Promise<string> {
  const values: Record<string, unknown> = path.includes(':instanceId')
    ? { ...input, instanceId: await instanceId() }
    : input;
  return fillPath(path, values);
}

function detailsOf({ method, path, body }: Endpoint): string {
  const takes = body?.map(({ name, isRequired }) => (isRequired ? name : `[${name}]`)).join(' ');
  return `${method} ${path}${takes ? `\nFields: ${takes}` : ''}`;
}

function flagOf({ name, help, isList, values }: Field): Param<unknown> {
  const value = name.replaceAll('_', '-');
  return {
    ...(isList ? many(value, help) : text(value, help)),
    parse(given: string) {
      if (!values || values.includes(given)) return isList ? [given] : given;
      throw new UsageError(`${value} must be one of ${values.join(', ')}`);
    },
  };
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function kebab(name: string): string {
  return name.replaceAll('_', '-');
}
