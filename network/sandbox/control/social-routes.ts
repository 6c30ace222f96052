/** A tester's other settings and actions: a business's catalog, anonymous ids, typing. */
import { isGroupJid, jidOfPhone } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import { phoneNumber } from '../phone-number.ts';
import { revealLid } from '../state/lids.ts';
import { phoneFor } from '../state/phones.ts';
import { tellPresence } from '../state/presence.ts';
import { phoneRecord } from '../state/records.ts';
import type { World } from '../state/world.ts';
import { CDN_PATH } from './cdn-http.ts';
import { ControlError, parseWith, type Route } from './http.ts';
import { knownPhone } from './phone-routes.ts';

const words = z.string().max(4096).default('');

const product = z.object({
  id: z.string().min(1).max(128),
  name: words,
  description: words,
  retailer_id: words,
  url: words,
  price: z.number().default(0),
  currency: z.string().default('BRL'),
  is_hidden: z.boolean().default(false),
  review_status: z.string().default('approved'),
  /** Any address; or pass the picture itself, and the network's own CDN serves it. */
  image_url: words,
  image_base64: z.base64().optional(),
});

const businessBody = z.object({
  address: words,
  description: words,
  email: words,
  categories: z.array(z.object({ id: z.string(), name: z.string() })).default([]),
  business_hours_timezone: words,
  business_hours: z
    .array(z.object({ day_of_week: z.string(), mode: z.string(), open_time: words, close_time: words }))
    .default([]),
  products: z.array(product).max(10_000).default([]),
  collections: z
    .array(
      z.object({
        id: z.string(),
        name: z.string(),
        status: z.string().default('approved'),
        product_ids: z.array(z.string()).default([]),
      }),
    )
    .default([]),
});

const presenceBody = z.object({ state: z.enum(['composing', 'recording', 'paused']), to: z.string() });

export function socialRoutes(world: World): Route[] {
  return [
    {
      method: 'POST',
      path: '/phones/:phone/business',
      handle({ params, body }) {
        const phone = phoneFor(world, parseWith(phoneNumber, params.phone));
        const { products, collections, ...profile } = parseWith(businessBody, body);
        phone.business = true;
        phone.storefront = {
          profile,
          collections,
          products: products.map(({ image_base64: image, ...shown }) =>
            image === undefined
              ? shown
              : { ...shown, image_url: `${CDN_PATH}${world.cdn.put(Buffer.from(image, 'base64')).handle}` },
          ),
        };
        world.journal.append(phoneRecord(phone));
        return { jid: phone.jid, ...phone.storefront };
      },
    },
    {
      method: 'POST',
      path: '/phones/:phone/tell-lid',
      handle({ params }) {
        const phone = knownPhone(world, params.phone!);
        if (!phone.lid) throw new ControlError(409, 'REFUSED', 'this phone has no anonymous id');
        revealLid(world, phone);
        world.journal.append(phoneRecord(phone));
        return { lid: phone.lid.jid, phone: phone.phone };
      },
    },
    {
      method: 'POST',
      path: '/phones/:phone/presence',
      handle({ params, body }) {
        const phone = phoneFor(world, parseWith(phoneNumber, params.phone));
        const { state, to } = parseWith(presenceBody, body);
        const chat = isGroupJid(to) ? to : jidOfPhone(parseWith(phoneNumber, to));
        tellPresence(world, phone, state, chat);
        return { state, to: chat };
      },
    },
  ];
}
