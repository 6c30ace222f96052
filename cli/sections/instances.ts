import type { InstanceState } from '@posthorn/sdk/index.ts';
import { type Command, oneOf, required, text } from '../command.ts';
import { connectInstance, instanceArg } from '../commands/instances/connect.ts';
import { connectCloud } from '../commands/instances/connect-cloud.ts';
import { createInstance } from '../commands/instances/create.ts';
import { deleteInstance } from '../commands/instances/delete.ts';
import { getQr } from '../commands/instances/qr.ts';
import { setSettings } from '../commands/instances/settings.ts';
import { shownInstance } from '../commands/instances/shown.ts';
import { useInstance } from '../commands/instances/use.ts';
import { watchInstances } from '../commands/instances/watch.ts';
import { pair } from '../commands/pair.ts';
import { calls, pages } from '../endpoints/calls.ts';
import { fields, table } from '../format.ts';

const STATES = [
  'CREATED',
  'PAIRING',
  'CONNECTED',
  'DISCONNECTED',
  'HARD_PAUSED',
  'BANNED',
] as const satisfies readonly InstanceState[];
const state = oneOf('state', STATES, STATES.join(', '), '--state');

const which = { instanceId: instanceArg };

export const instances: readonly Command[] = [
  createInstance,
  calls('instances list', 'instances.list', {
    summary: 'List the instances, newest first',
    flags: { state: { ...state, parse: (given) => state.parse(given.toUpperCase()) }, ...pages(50) },
    columns: ['id', 'name', 'state', 'phone', 'created_at'],
    nothing: 'no instances',
  }),
  calls('instances get', 'instances.get', {
    summary: 'Show an instance',
    args: which,
    shows: shownInstance,
  }),
  useInstance,
  connectInstance,
  connectCloud,
  calls('instances disconnect', 'instances.disconnect', {
    summary: 'Disconnect an instance, keeping its pairing',
    args: which,
    shows: shownInstance,
  }),
  calls('instances restart', 'instances.restart', {
    summary: 'Disconnect an instance and connect it again',
    args: which,
    shows: shownInstance,
  }),
  calls('instances logout', 'instances.logout', {
    summary: 'End the pairing of an instance, keeping its settings',
    destroys: 'This ends the pairing of the instance',
    args: which,
    shows: shownInstance,
  }),
  deleteInstance,
  watchInstances,
  getQr,
  calls('instances pairing-code', 'instances.pairingCode', {
    summary: 'Get a code to type on the phone, in place of the QR code',
    args: which,
    flags: { phone: required(text('phone', 'number of the phone to pair')) },
  }),
  calls('instances connection', 'instances.connection', {
    summary: 'Show the state of the connection and its last changes',
    args: which,
    shows: ({ moves, ...connection }) =>
      `${fields(connection)}\n\n${table(moves, ['at', 'from', 'to', 'reason'], 'no moves yet')}`,
  }),
  calls('instances settings get', 'instances.getSettings', {
    summary: 'Show the settings',
    args: which,
  }),
  setSettings,
  calls('instances rename', 'instances.update'),
  pair,
  calls('presence set', 'presence.set'),
  calls('presence subscribe', 'presence.subscribe'),
  calls('profile get', 'profile.get'),
  calls('profile update', 'profile.update'),
  calls('business profile', 'business.profile'),
  calls('business catalog', 'business.catalog'),
  calls('business collections', 'business.collections'),
  calls('templates list', 'templates.list'),
  calls('templates create', 'templates.create'),
  calls('templates delete', 'templates.remove', { destroys: 'This deletes the template at Meta' }),
];
