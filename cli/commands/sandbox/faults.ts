import { ASSIGNMENTS_HELP, parseAssignments } from '../../assignments.ts';
import { defineCommand, integer, many, required, text } from '../../command.ts';
import { fields } from '../../format.ts';

type Fault = Record<string, unknown>;

export const listFaults = defineCommand({
  name: 'sandbox faults list',
  summary: 'List the faults in force',
  isDefault: true,
  async run(context) {
    const found = await context.sandbox().call<{ faults: Fault[] }>({ path: '/faults' });
    context.out.show(found, found.faults.map(fields).join('\n\n') || 'no faults');
  },
});

export const addFault = defineCommand({
  name: 'sandbox faults add',
  summary: 'Order a fault',
  details: `${ASSIGNMENTS_HELP} --instance limits the fault to one instance.\nE.g. msgctl sandbox faults add drop at=after_ledger times=3`,
  args: {
    kind: required(text('kind', 'drop, delay, silence, refuse, ban, hard_pause, offline, logout, ...')),
    more: many('fields', 'at, times, duration_ms, probability, delay_ms, reason, phone, ...'),
  },
  async run(context, { kind, more }) {
    const instance = await context.namedInstanceId();
    const body = { ...parseAssignments(more), kind, ...(instance ? { instance } : {}) };
    const fault = await context.sandbox().call({ method: 'POST', path: '/faults', body });
    context.out.show(fault, fields(fault));
  },
});

export const clearFaults = defineCommand({
  name: 'sandbox faults clear',
  summary: 'Remove faults; by default all of them',
  flags: {
    id: integer('id', 'only this one'),
    kind: text('kind', 'only of this kind'),
    phone: text('phone', 'only of this number'),
  },
  async run(context, { id, kind, phone }) {
    const instance = await context.namedInstanceId();
    const query = { id, kind, phone, instance };
    const cleared = await context.sandbox().call({ method: 'DELETE', path: '/faults', query });
    context.out.show(cleared, fields(cleared));
  },
});
