/** Group actions of a virtual phone. */
import { z } from 'zod/v4';
import { phoneNumber } from '../phone-number.ts';
import {
  changeGroup,
  changeParticipants,
  createGroup,
  isAdmin,
  joinByCode,
  leaveGroup,
  mayChange,
  type Refused,
} from '../state/groups.ts';
import type { Group, Phone } from '../state/model.ts';
import { phoneFor } from '../state/phones.ts';
import type { World } from '../state/world.ts';
import { ControlError, parseWith, type Route } from './http.ts';
import { shownGroup } from './shown.ts';

const numbers = z.array(phoneNumber).default([]);
const makeBody = z.object({ name: z.string().min(1).max(255), participants: numbers });
const changeBody = z.object({
  name: z.string().min(1).max(255).optional(),
  description: z.string().max(4096).optional(),
  announce: z.boolean().optional(),
  locked: z.boolean().optional(),
  add: numbers,
  remove: numbers,
  promote: numbers,
  demote: numbers,
});

export function groupRoutes(world: World): Route[] {
  const phoneOf = (number: string | undefined) => phoneFor(world, parseWith(phoneNumber, number));
  return [
    {
      method: 'POST',
      path: '/phones/:phone/groups',
      handle({ params, body }) {
        const { name, participants } = parseWith(makeBody, body);
        const { group, refused } = createGroup(world, phoneOf(params.phone), {
          name,
          participants: participants.map(phoneOf),
        });
        return [201, { ...shownGroup(group), refused: shownRefused(refused) }];
      },
    },
    {
      method: 'POST',
      path: '/phones/:phone/groups/:jid',
      handle({ params, body }) {
        const phone = phoneOf(params.phone);
        const group = groupOf(world, params.jid!, phone);
        const { add, remove, promote, demote, ...change } = parseWith(changeBody, body);
        const lists = { add, remove, promote, demote };
        const touchesPeople = Object.values(lists).some((list) => list.length > 0);
        if (!mayChange(group, phone, change) || (touchesPeople && !isAdmin(group, phone)))
          throw refusal('not_admin');
        changeGroup(world, group, phone, change);
        const refused = (Object.keys(lists) as (keyof typeof lists)[]).flatMap((action) =>
          changeParticipants(world, group, phone, action, lists[action].map(phoneOf)),
        );
        return { ...shownGroup(group), refused: shownRefused(refused) };
      },
    },
    {
      method: 'POST',
      path: '/phones/:phone/groups/:jid/leave',
      handle({ params }) {
        const phone = phoneOf(params.phone);
        const group = groupOf(world, params.jid!, phone);
        leaveGroup(world, group, phone);
        return shownGroup(group);
      },
    },
    {
      method: 'POST',
      path: '/phones/:phone/join',
      handle({ params, body }) {
        const { code } = parseWith(z.object({ code: z.string() }), body);
        const joined = joinByCode(world, phoneOf(params.phone), code);
        if (typeof joined === 'string') throw refusal(joined);
        return shownGroup(joined);
      },
    },
  ];
}

function groupOf(world: World, jid: string, phone: Phone): Group {
  const group = world.groups.get(jid);
  if (!group) throw new ControlError(404, 'GROUP_NOT_FOUND', 'nobody made this group');
  if (!group.participants.has(phone)) throw refusal('not_participant');
  return group;
}

function refusal(reason: string): ControlError {
  return new ControlError(409, 'REFUSED', `the network refuses it: ${reason}`);
}

function shownRefused(refused: readonly Refused[]) {
  return refused.map(({ phone, reason }) => ({ phone: phone.phone, reason }));
}
