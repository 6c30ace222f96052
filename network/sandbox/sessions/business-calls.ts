/** A driver's calls about businesses. */
import { z } from 'zod/v4';
import { findPhone } from '../state/phones.ts';
import type { World } from '../state/world.ts';
import { type Call, CallRefused, callerOf } from './call.ts';

const ofJid = z.object({ jid: z.string() });
const limit = z.int().min(1).max(1000);

export const businessCalls = {
  business_profile(world, session, args) {
    callerOf(session);
    const phone = findPhone(world, ofJid.parse(args).jid);
    if (!phone?.business) throw new CallRefused('not_a_business');
    return { jid: phone.jid, ...(phone.storefront?.profile ?? EMPTY) };
  },

  business_catalog(world, session, args) {
    callerOf(session);
    const { limit: most, cursor } = ofJid.extend({ limit, cursor: z.string().optional() }).parse(args);
    const products = storefrontOf(world, args)?.products ?? [];
    const start = cursor === undefined ? 0 : placeOf(cursor);
    const end = start + most;
    return {
      products: products.slice(start, end),
      next_cursor: end < products.length ? `after-${end}` : null,
    };
  },

  business_collections(world, session, args) {
    callerOf(session);
    const { limit: most } = ofJid.extend({ limit }).parse(args);
    const storefront = storefrontOf(world, args);
    return (storefront?.collections ?? []).slice(0, most).map(({ product_ids, ...collection }) => ({
      ...collection,
      products: storefront?.products.filter(({ id }) => product_ids.includes(id)) ?? [],
    }));
  },
} satisfies Record<string, Call>;

const EMPTY = {
  ...{ address: '', description: '', email: '' },
  ...{ categories: [], business_hours_timezone: '', business_hours: [] },
};

function storefrontOf(world: World, args: unknown) {
  return findPhone(world, ofJid.parse(args).jid)?.storefront;
}

function placeOf(cursor: string): number {
  const place = /^after-(\d{1,9})$/.exec(cursor)?.[1];
  if (place === undefined) throw new CallRefused('cursor_invalid');
  return Number(place);
}
