/** Lets a virtual phone call someone, and shows its calls and their outcomes. */
import { z } from 'zod/v4';
import { phoneNumber } from '../phone-number.ts';
import { placeCall, shownCall } from '../state/phone-calls.ts';
import { phoneFor } from '../state/phones.ts';
import type { World } from '../state/world.ts';
import { parseWith, type Route } from './http.ts';
import { knownPhone } from './phone-routes.ts';

const callBody = z.object({ to: phoneNumber, video: z.boolean().default(false) });

export function callRoutes(world: World): Route[] {
  return [
    {
      method: 'POST',
      path: '/phones/:phone/calls',
      handle({ params, body }) {
        const from = phoneFor(world, parseWith(phoneNumber, params.phone));
        const { to, video } = parseWith(callBody, body);
        return [201, shownCall(placeCall(world, from, phoneFor(world, to), { video }))];
      },
    },
    {
      method: 'GET',
      path: '/phones/:phone/calls',
      handle: ({ params }) => ({ calls: knownPhone(world, params.phone!).calls.map(shownCall) }),
    },
  ];
}
