import { ASSIGNMENTS_HELP, parseAssignments } from '../../assignments.ts';
import { defineCommand, many, required, text } from '../../command.ts';
import { fields } from '../../format.ts';

const phone = required(text('phone', 'the official number'));
const pathOf = (number: string, ...steps: string[]) =>
  ['/cloud/numbers', ...[number, ...steps].map(encodeURIComponent)].join('/');

export const cloudNumber = defineCommand({
  name: 'sandbox cloud number',
  summary: 'Create an official number, or show it, with the credentials to connect it',
  args: { phone },
  async run(context, { phone }) {
    const shown = await context.sandbox().call({ method: 'POST', path: '/cloud/numbers', body: { phone } });
    context.out.show(shown, fields(shown));
  },
});

export const cloudWrite = defineCommand({
  name: 'sandbox cloud write',
  summary: 'Send a message from somebody to an official number',
  args: {
    phone,
    from: required(text('from', 'the sender: a number, or an id like BR.1349')),
    text: required(text('text', 'the text')),
  },
  async run(context, { phone, from, text }) {
    const path = pathOf(phone, 'messages');
    const sent = await context.sandbox().call({ method: 'POST', path, body: { from, text } });
    context.out.show(sent, fields(sent));
  },
});

export const cloudWebhooks = defineCommand({
  name: 'sandbox cloud webhooks',
  summary: 'Make webhooks come late, twice or out of order, or hold them back',
  details: `${ASSIGNMENTS_HELP}\nE.g. msgctl sandbox cloud webhooks 5511999990000 doubled=true delay_ms:=3000`,
  args: { phone, changes: many('changes', 'doubled, shuffled, delay_ms, held') },
  async run(context, { phone, changes }) {
    const body = parseAssignments(changes);
    const shown = await context.sandbox().call({ method: 'POST', path: pathOf(phone, 'webhooks'), body });
    context.out.show(shown, fields(shown));
  },
});

export const cloudToken = defineCommand({
  name: 'sandbox cloud token',
  summary: 'Invalidate the access token of an official number, or make it valid again',
  args: { phone, change: required(text('change', 'die or live')) },
  async run(context, { phone, change }) {
    const body = { alive: change === 'live' ? true : change === 'die' ? false : change };
    const shown = await context.sandbox().call({ method: 'POST', path: pathOf(phone, 'token'), body });
    context.out.show(shown, fields(shown));
  },
});

export const cloudReview = defineCommand({
  name: 'sandbox cloud review',
  summary: 'Review a template as Meta does',
  args: {
    phone,
    template: required(text('template', 'its name')),
    status: required(text('status', 'APPROVED, REJECTED, PAUSED, DISABLED or PENDING')),
    more: many('fields', 'reason, language'),
  },
  async run(context, { phone, template, status, more }) {
    const path = pathOf(phone, 'templates', template, 'review');
    const body = { ...parseAssignments(more), status };
    const done = await context.sandbox().call({ method: 'POST', path, body });
    context.out.show(done, fields(done));
  },
});

export const cloudFault = defineCommand({
  name: 'sandbox cloud fault',
  summary: 'Make the next sends fail',
  details: `${ASSIGNMENTS_HELP}\nE.g. msgctl sandbox cloud fault error code:=131056 times:=3 person=5511988880000`,
  args: {
    kind: required(
      text('kind', 'error or fail, with a code of Meta; lose_answer or bad_gateway, at before or after'),
    ),
    more: many('fields', 'code, at, person, times'),
  },
  async run(context, { kind, more }) {
    const body = { ...parseAssignments(more), kind };
    const fault = await context.sandbox().call({ method: 'POST', path: '/cloud/faults', body });
    context.out.show(fault, fields(fault));
  },
});

export const cloudClear = defineCommand({
  name: 'sandbox cloud clear',
  summary: 'Remove the faults ordered for sends',
  async run(context) {
    const cleared = await context.sandbox().call({ method: 'DELETE', path: '/cloud/faults' });
    context.out.show(cleared, fields(cleared));
  },
});

export const cloudSent = defineCommand({
  name: 'sandbox cloud sent',
  summary: 'Show the sends of official numbers as the request bodies that Meta would get',
  async run(context) {
    const found = await context.sandbox().call<{ sent: Record<string, unknown>[] }>({ path: '/cloud/sent' });
    context.out.show(found, found.sent.map(fields).join('\n\n') || 'nothing sent');
  },
});
