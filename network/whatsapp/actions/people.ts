/** Contacts, presence, profiles, businesses and calls. */
import { isLidJid } from '@posthorn/contract/jid.ts';
import { type BusinessProfile, type Product, SendRefused } from '../../driver.ts';
import type { LibraryBusinessProfile, LibraryProduct } from '../library-types.ts';
import { type Context, nameOf, nextRevision, ownJid } from '../session-context.ts';
import { tell } from '../session-facts.ts';
import { withoutDevice } from '../wire/jids.ts';
import { type Actions, ask } from './action.ts';

type PeopleOps =
  | 'contacts_check'
  | 'contact_block'
  | 'lid_phone'
  | 'presence_set'
  | 'presence_subscribe'
  | 'profile'
  | 'profile_update'
  | 'business_profile'
  | 'business_catalog'
  | 'business_collections'
  | 'reject_call';

const OF_CHAT = { 403: 'chat_not_found', 404: 'chat_not_found' } as const;
const OF_BUSINESS = { 403: 'not_a_business', 404: 'not_a_business' } as const;

export const personActions: Pick<Actions, PeopleOps> = {
  async contacts_check(session, { phones }) {
    const found =
      (await ask(session, (socket) => socket.onWhatsApp(...phones.map((phone) => `+${phone}`)))) ?? [];
    const named = new Map<string, boolean>();
    for (const { jid, exists } of found) named.set(await nameOf(session, jid), exists);
    return phones.map((phone) => {
      const jid = `${phone.replace(/\D/g, '')}@s.whatsapp.net`;
      const exists = named.get(jid) === true;
      // The network says of a number only whether it has an account; a business shows by its profile.
      return { phone, exists, jid: exists ? jid : null, is_business: false };
    });
  },

  async contact_block(session, { jid, blocked }) {
    await ask(session, (socket) => socket.updateBlockStatus(jid, blocked ? 'block' : 'unblock'), OF_CHAT);
    const revision = nextRevision(session);
    tell(session, async () => [{ kind: 'blocked', revision, jid, blocked, at: session.deps.clock.now() }]);
    return { revision };
  },

  async lid_phone(session, { lid }) {
    const jid = await nameOf(session, lid);
    return { phone: isLidJid(jid) ? null : jid.slice(0, jid.indexOf('@')) };
  },

  async presence_set(session, args) {
    const chat = 'chat' in args ? args.chat : undefined;
    await ask(session, (socket) => socket.sendPresenceUpdate(args.state, chat), OF_CHAT);
    return {};
  },

  async presence_subscribe(session, { jid }) {
    await ask(session, (socket) => socket.presenceSubscribe(jid), OF_CHAT);
    return {};
  },

  profile: readProfile,

  async profile_update(session, { name, about, picture }) {
    await ask(session, async (socket) => {
      if (name !== undefined) await socket.updateProfileName(name);
      if (about !== undefined) await socket.updateProfileStatus(about);
      if (picture === null) await socket.removeProfilePicture(ownJid(session));
      else if (picture !== undefined) await setPicture(session, picture);
    });
    return readProfile(session);
  },

  async business_profile(session, { jid }) {
    const found = await ask(session, (socket) => socket.getBusinessProfile(jid), OF_BUSINESS);
    if (!found) throw new SendRefused('not_a_business');
    return businessOf(jid, found);
  },

  async business_catalog(session, { jid, limit, cursor }) {
    const page = await ask(session, (socket) => socket.getCatalog({ jid, limit, cursor }), {
      ...OF_BUSINESS,
      400: 'cursor_invalid',
    });
    return { products: page.products.map(productOf), next_cursor: page.nextPageCursor || null };
  },

  async business_collections(session, { jid, limit }) {
    const { collections } = await ask(session, (socket) => socket.getCollections(jid, limit), OF_BUSINESS);
    return collections.map(({ id, name, status, products }) => ({
      ...{ id, name, status: status?.status ?? '', products: products.map(productOf) },
    }));
  },

  async reject_call(session, { call_id, from }) {
    await ask(session, (socket) => socket.rejectCall(call_id, from));
    return {};
  },
};

async function readProfile(session: Context) {
  const me = ownJid(session);
  return ask(session, async (socket) => {
    // An account without a picture, or one that hides it, is answered with an error.
    const picture = await socket.profilePictureUrl(me, 'image').catch(() => undefined);
    const [status] = (await socket.fetchStatus(me).catch(() => undefined)) ?? [];
    const about = (status as { status?: { status?: string | null } | null } | undefined)?.status?.status;
    return { name: session.creds.me?.name ?? '', about: about ?? '', picture_url: picture ?? null };
  });
}

const JPEG = Buffer.of(0xff, 0xd8, 0xff);

/** The network takes JPEG alone. */
async function setPicture(session: Context, picture: string): Promise<void> {
  const bytes = Buffer.from(picture, 'base64');
  if (!bytes.subarray(0, 3).equals(JPEG)) throw new SendRefused('picture_not_jpeg');
  await ask(session, (socket) =>
    socket.query({
      tag: 'iq',
      attrs: { to: '@s.whatsapp.net', type: 'set', xmlns: 'w:profile:picture' },
      content: [{ tag: 'picture', attrs: { type: 'image' }, content: bytes }],
    }),
  );
}

function businessOf(
  jid: string,
  { address, email, category, business_hours: hours }: LibraryBusinessProfile,
): BusinessProfile {
  return {
    jid: withoutDevice(jid),
    address: address ?? '',
    email: email ?? '',
    categories: category ? [{ id: '', name: category }] : [],
    business_hours_timezone: hours?.timezone ?? '',
    business_hours: (hours?.business_config ?? []).map(({ day_of_week, mode, open_time, close_time }) => ({
      ...{ day_of_week, mode, open_time: clockOf(open_time), close_time: clockOf(close_time) },
    })),
  };
}

/** Minutes since midnight, as people read them. */
function clockOf(minutes: number | undefined): string {
  if (minutes === undefined || !Number.isFinite(Number(minutes))) return '';
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${two(Number(minutes) / 60)}:${two(Number(minutes) % 60)}`;
}

function productOf(product: LibraryProduct): Product {
  return {
    id: product.id,
    name: product.name ?? '',
    description: product.description ?? '',
    retailer_id: product.retailerId ?? '',
    url: product.url ?? '',
    price: product.price ?? 0,
    currency: product.currency ?? '',
    is_hidden: product.isHidden === true,
    review_status: Object.values(product.reviewStatus ?? {})[0] ?? '',
    image_url: product.imageUrls?.original ?? product.imageUrls?.requested ?? '',
  };
}
