import { ASSIGNMENTS_HELP, parseAssignments } from '../../assignments.ts';
import { defineCommand, many, required, text } from '../../command.ts';
import { fields } from '../../format.ts';

const phone = required(text('phone', 'its number'));

export const getPhone = defineCommand({
  name: 'sandbox phones get',
  summary: 'Show a virtual phone',
  isDefault: true,
  args: { phone },
  async run(context, { phone }) {
    const shown = await context.sandbox().call({ path: `/phones/${encodeURIComponent(phone)}` });
    context.out.show(shown, fields(shown));
  },
});

export const setPhone = defineCommand({
  name: 'sandbox phones set',
  summary: 'Make or change a virtual phone',
  details: `${ASSIGNMENTS_HELP}\nE.g. msgctl sandbox phones set 5511999990000 name=Ana auto_reply="On my way" read_receipts=false`,
  args: {
    phone,
    changes: many('changes', 'name, business, online, auto_read, auto_reply, read_receipts, ...'),
  },
  async run(context, { phone, changes }) {
    const body = { ...parseAssignments(changes), phone };
    const shown = await context.sandbox().call({ method: 'POST', path: '/phones', body });
    context.out.show(shown, fields(shown));
  },
});

export const actOnPhone = defineCommand({
  name: 'sandbox phones do',
  summary: 'Act on a virtual phone as a person would',
  details: `${ASSIGNMENTS_HELP}\nE.g. msgctl sandbox phones do 5511999990000 read chat=5511888880000`,
  args: {
    phone,
    action: required(
      text(
        'action',
        'read, play, view-status, block, contacts, label, put-label, chat, calls, groups, groups/<jid>, join, presence, business, tell-lid',
      ),
    ),
    more: many('fields', 'fields of the action'),
  },
  async run(context, { phone, action, more }) {
    const steps = [phone, ...action.split('/')].map(encodeURIComponent);
    const path = `/phones/${steps.join('/')}`;
    const done = await context.sandbox().call({ method: 'POST', path, body: parseAssignments(more) });
    context.out.show(done, fields(done));
  },
});
