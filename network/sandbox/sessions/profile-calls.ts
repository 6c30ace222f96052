/** The account's own name, about text and picture. */

import type { Profile } from '@posthorn/core/network/actions.ts';
import { z } from 'zod/v4';
import { CDN_PATH } from '../control/cdn-http.ts';
import type { Account, Phone } from '../state/model.ts';
import { phoneRecord } from '../state/records.ts';
import { type Call, callerOf } from './call.ts';

const updateArgs = z.object({
  name: z.string().min(1).max(255).optional(),
  about: z.string().max(512).optional(),
  picture: z.base64().nullable().optional(),
});

export const profileCalls = {
  profile: (_world, session) => profileOf(callerOf(session), session.account),

  profile_update(world, session, args) {
    const phone = callerOf(session);
    const { name, about, picture } = updateArgs.parse(args);
    if (name !== undefined && session.account) {
      session.account.pushName = name;
      phone.name = name;
      world.journal.append(['push_name', phone.phone, name]);
    }
    if (about !== undefined) phone.about = about;
    if (picture === null) phone.picture = null;
    else if (picture !== undefined) phone.picture = world.cdn.put(Buffer.from(picture, 'base64')).handle;
    world.journal.append(phoneRecord(phone));
    return profileOf(phone, session.account);
  },
} satisfies Record<string, Call>;

function profileOf(phone: Phone, account: Account | null): Profile {
  const picture_url = phone.picture && `${CDN_PATH}${phone.picture}`;
  return { name: account?.pushName ?? phone.name, about: phone.about, picture_url };
}
