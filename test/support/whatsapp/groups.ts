import { randomBytes, randomInt } from 'node:crypto';
import type { LinkedDevice } from './linked-device.ts';
import { child, children, node, type Stanza, textOf } from './nodes.ts';
import type { Phone } from './phone.ts';
import { type Group, jidIn, phoneOf, seconds, type World } from './world.ts';

/** The groups of the simulated network, and the questions of devices about them (`w:g2`). */

type Answer = { error: number; text: string } | readonly Stanza[];

export function createGroup(
  world: World,
  owner: Phone,
  subject: string,
  members: readonly Phone[],
  addressing: 'pn' | 'lid' = 'lid',
): Group {
  const group: Group = {
    jid: `1203630${randomInt(10 ** 10, 10 ** 11)}@g.us`,
    subject,
    description: '',
    descriptionId: '',
    owner,
    members: new Map([[owner.number, { phone: owner, admin: true }]]),
    addressing,
    announce: false,
    locked: false,
    timer: 0,
    code: newCode(),
    createdAt: new Date(),
  };
  for (const phone of members) group.members.set(phone.number, { phone, admin: false });
  world.groups.set(group.jid, group);
  return group;
}

export function answerGroupQuestion(world: World, device: LinkedDevice, stanza: Stanza): Answer {
  const me = world.phones.get(device.number)!;
  const [what] = children(stanza);
  const to = stanza.attrs.to ?? '';
  if (!what) return { error: 400, text: 'bad-request' };
  if (to === '@g.us' || to === 'g.us') return answerWithoutGroup(world, me, stanza, what);
  const group = world.groups.get(to);
  if (!group) return { error: 404, text: 'item-not-found' };
  if (!group.members.has(me.number)) return { error: 403, text: 'forbidden' };
  if (stanza.attrs.type === 'get') {
    const { faults } = world;
    if (faults.groupQuestions === 0) return { error: 429, text: 'rate-overlimit' };
    if (faults.groupQuestions !== null) faults.groupQuestions -= 1;
    if (what.tag === 'invite') return [node('invite', { code: group.code })];
    return [describe(group)];
  }
  return change(world, me, device, group, what);
}

/** A group as its members see it. */
export function describe(group: Group): Stanza {
  const isLid = group.addressing === 'lid';
  const members = [...group.members.values()].map(({ phone, admin }) =>
    node('participant', {
      jid: jidIn(group.addressing, phone, 0),
      phone_number: isLid ? phone.jid : undefined,
      lid: isLid ? undefined : phone.lid,
      type: phone === group.owner ? 'superadmin' : admin ? 'admin' : undefined,
    }),
  );
  const body = group.description
    ? [
        node('description', { id: group.descriptionId, t: seconds(group.createdAt) }, [
          node('body', {}, Buffer.from(group.description)),
        ]),
      ]
    : [];
  return node(
    'group',
    {
      id: group.jid.split('@')[0],
      subject: group.subject,
      s_t: seconds(group.createdAt),
      s_o: jidIn(group.addressing, group.owner, 0),
      creation: seconds(group.createdAt),
      creator: jidIn(group.addressing, group.owner, 0),
      creator_pn: isLid ? group.owner.jid : undefined,
      addressing_mode: group.addressing,
      size: String(group.members.size),
    },
    [
      ...members,
      ...body,
      ...(group.announce ? [node('announcement')] : []),
      ...(group.locked ? [node('locked')] : []),
      ...(group.timer > 0 ? [node('ephemeral', { expiration: String(group.timer) })] : []),
    ],
  );
}

/** Somebody adds a member by their phone. */
export function addMember(group: Group, by: Phone, phone: Phone): void {
  group.members.set(phone.number, { phone, admin: false });
  announceChange(group, by, node('add', {}, [memberNode(group, phone)]));
}

/** Somebody makes a member an admin, or an admin a member, by their phone. */
export function setRole(group: Group, by: Phone, phone: Phone, role: 'admin' | 'member'): void {
  group.members.set(phone.number, { phone, admin: role === 'admin' });
  announceChange(group, by, node(role === 'admin' ? 'promote' : 'demote', {}, [memberNode(group, phone)]));
}

/** Somebody changes the number of seconds after which messages disappear. */
export function setTimer(group: Group, by: Phone, seconds: number): void {
  group.timer = seconds;
  const what = seconds > 0 ? node('ephemeral', { expiration: String(seconds) }) : node('not_ephemeral');
  announceChange(group, by, what);
}

/** Notifies the members' devices of a change to a group. */
export function announceChange(
  group: Group,
  by: Phone,
  what: Stanza,
  except?: LinkedDevice,
  also?: Phone,
): void {
  const phones = [...group.members.values()].map((member) => member.phone);
  for (const phone of new Set(also ? [...phones, also] : phones)) {
    for (const device of phone.devices.values()) {
      if (device === except) continue;
      const isLid = group.addressing === 'lid';
      device.deliver(
        node(
          'notification',
          {
            from: group.jid,
            id: randomBytes(6).toString('hex'),
            t: seconds(),
            type: 'w:gp2',
            participant: jidIn(group.addressing, by, 0),
            participant_pn: isLid ? by.jid : undefined,
            addressing_mode: group.addressing,
            notify: by.name,
          },
          [what],
        ),
      );
    }
  }
}

function answerWithoutGroup(world: World, me: Phone, stanza: Stanza, what: Stanza): Answer {
  if (what.tag === 'participating') {
    const groups = [...world.groups.values()].filter((group) => group.members.has(me.number));
    return [node('groups', {}, groups.map(describe))];
  }
  if (what.tag === 'create') {
    const members = children(what, 'participant').map((each) => phoneOf(world, each.attrs.jid!));
    if (members.some((phone) => !phone)) return { error: 404, text: 'item-not-found' };
    const group = createGroup(world, me, what.attrs.subject ?? '', members as Phone[]);
    announceChange(group, me, node('create', {}, [describe(group)]));
    return [describe(group)];
  }
  if (what.tag === 'leave') {
    for (const each of children(what, 'group')) {
      const group = world.groups.get(each.attrs.id!);
      if (!group?.members.has(me.number)) return { error: 404, text: 'item-not-found' };
      announceChange(group, me, node('remove', {}, [memberNode(group, me)]));
      group.members.delete(me.number);
    }
    return [node('leave', {}, children(what, 'group'))];
  }
  if (what.tag !== 'invite') return { error: 501, text: 'feature-not-implemented' };
  const group = [...world.groups.values()].find((each) => each.code === what.attrs.code);
  if (!group) return { error: 406, text: 'not-acceptable' };
  if (stanza.attrs.type === 'get') return [describe(group)];
  group.members.set(me.number, { phone: me, admin: false });
  announceChange(group, me, node('add', { reason: 'invite' }, [memberNode(group, me)]));
  return [node('group', { jid: group.jid })];
}

const MEMBER_CHANGES = new Set(['add', 'remove', 'promote', 'demote']);

function change(world: World, me: Phone, device: LinkedDevice, group: Group, what: Stanza): Answer {
  const isAdmin = group.members.get(me.number)?.admin ?? false;
  const isFree = (what.tag === 'subject' || what.tag === 'description') && !group.locked;
  if (!isAdmin && !isFree) return { error: 403, text: 'forbidden' };
  if (MEMBER_CHANGES.has(what.tag)) return changeMembers(world, me, device, group, what);
  if (what.tag === 'subject') group.subject = textOf(what);
  else if (what.tag === 'description') {
    group.description = what.attrs.delete === 'true' ? '' : textOf(child(what, 'body'));
    group.descriptionId = what.attrs.id ?? '';
  } else if (what.tag === 'announcement' || what.tag === 'not_announcement') {
    group.announce = what.tag === 'announcement';
  } else if (what.tag === 'locked' || what.tag === 'unlocked') group.locked = what.tag === 'locked';
  else if (what.tag === 'invite') {
    group.code = newCode();
    return [node('invite', { code: group.code })];
  } else return { error: 501, text: 'feature-not-implemented' };
  const shown = what.tag === 'subject' ? node('subject', { subject: group.subject }) : what;
  announceChange(group, me, shown, device);
  return [];
}

function changeMembers(world: World, me: Phone, device: LinkedDevice, group: Group, what: Stanza): Answer {
  const done: Phone[] = [];
  const answers = children(what, 'participant').map(({ attrs }) => {
    const phone = phoneOf(world, attrs.jid!);
    const isMember = phone !== undefined && group.members.has(phone.number);
    const error = !phone ? '404' : phone.blocked.has(me.number) && what.tag === 'add' ? '403' : undefined;
    const impossible = what.tag === 'add' ? (isMember ? '409' : undefined) : isMember ? undefined : '404';
    if (!error && !impossible) done.push(phone!);
    return node('participant', { jid: attrs.jid, error: error ?? impossible });
  });
  for (const phone of done) {
    // The removed member is notified as well.
    if (what.tag === 'remove') group.members.delete(phone.number);
    else group.members.set(phone.number, { phone, admin: what.tag === 'promote' });
    announceChange(group, me, node(what.tag, {}, [memberNode(group, phone)]), device, phone);
  }
  return [node(what.tag, {}, answers)];
}

function memberNode(group: Group, phone: Phone): Stanza {
  const isLid = group.addressing === 'lid';
  return node('participant', {
    jid: jidIn(group.addressing, phone, 0),
    phone_number: isLid ? phone.jid : undefined,
  });
}

function newCode(): string {
  return randomBytes(16).toString('base64url').replace(/[-_]/g, 'A').slice(0, 22);
}
