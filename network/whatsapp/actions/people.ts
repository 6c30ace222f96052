/** Contacts, presence, profiles, businesses and calls. */
import { randomBytes } from 'node:crypto';
import { isLidJid } from '@posthorn/contract/jid.ts';
import { type BusinessProfile, type Product, SendRefused } from '@posthorn/core/network/driver.ts';
import { blockedFact } from '../blocked.ts';
import type { LibraryBusinessProfile, LibraryProduct } from '../library-shop-types.ts';
import type { LibrarySocket } from '../library-types.ts';
import { nameOf, nextRevision, ownJid, type WhatsAppContext } from '../session-context.ts';
import { changeState } from '../sync-collections.ts';
import { tell } from '../tell-facts.ts';
import { type Account, accountsQuestion, readAccounts } from '../wire/accounts.ts';
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
/** Our reason for an empty catalog, which the port reports as an empty list. */
const NO_CATALOG = 'no_catalog';
const OF_CATALOG = { 403: NO_CATALOG, 404: NO_CATALOG, 400: 'cursor_invalid' } as const;

export const personActions: Pick<Actions, PeopleOps> = {
  async contacts_check(session, { phones }) {
    const numbers = phones.map((phone) => phone.replace(/\D/g, ''));
    const question = accountsQuestion(numbers, randomBytes(8).toString('hex'), 'businesses');
    const found = await ask(session, async (socket) => readAccounts(await socket.query(question)));
    const named = new Map<string, Account>();
    for (const account of found) {
      const jid = await nameOf(session, account.jid);
      named.set(account.asked || jid.slice(0, jid.indexOf('@')), { ...account, jid });
    }
    return phones.map((phone, at) => {
      const account = named.get(numbers[at]!);
      if (!account?.exists) return { phone, exists: false, jid: null, is_business: false };
      return { phone, exists: true, jid: account.jid, is_business: account.isBusiness };
    });
  },

  async contact_block(session, { jid, blocked }) {
    await ask(session, (socket) => socket.updateBlockStatus(jid, blocked ? 'block' : 'unblock'), OF_CHAT);
    const revision = nextRevision(session);
    tell(session, async () => [await blockedFact(session, jid, blocked, revision)]);
    return { revision };
  },

  async lid_phone(session, { lid }) {
    const jid = await nameOf(session, lid);
    return { phone: isLidJid(jid) ? null : jid.slice(0, jid.indexOf('@')) };
  },

  async presence_set(session, args) {
    const chat = 'chat' in args ? args.chat : undefined;
    const send = (socket: LibrarySocket) => {
      // The library shows nothing of an account without a name.
      if (!chat && !session.creds.me?.name) session.earlyPresence = args.state;
      return socket.sendPresenceUpdate(args.state, chat);
    };
    await ask(session, send, OF_CHAT);
    return {};
  },

  async presence_subscribe(session, { jid }) {
    await ask(session, (socket) => socket.presenceSubscribe(jid), OF_CHAT);
    return {};
  },

  profile: readProfile,

  async profile_update(session, { name, about, picture }) {
    // Checked before anything is changed.
    const jpeg = picture ? jpegOf(picture) : undefined;
    await ask(session, async (socket) => {
      if (name !== undefined) await setName(session, socket, name);
      if (about !== undefined) await socket.updateProfileStatus(about);
      if (picture === null) await socket.removeProfilePicture(ownJid(session));
      else if (jpeg) await setPicture(socket, jpeg);
    });
    return readProfile(session);
  },

  async business_profile(session, { jid }) {
    const found = await ask(session, (socket) => socket.getBusinessProfile(jid), OF_BUSINESS);
    if (!found) throw new SendRefused('not_a_business');
    return businessOf(jid, found);
  },

  async business_catalog(session, { jid, limit, cursor }) {
    const asked = ask(session, (socket) => socket.getCatalog({ jid, limit, cursor }), OF_CATALOG);
    const page = await asked.catch(nullWithoutCatalog);
    return { products: page?.products.map(productOf) ?? [], next_cursor: page?.nextPageCursor || null };
  },

  async business_collections(session, { jid, limit }) {
    const asked = ask(session, (socket) => socket.getCollections(jid, limit), OF_CATALOG);
    const page = await asked.catch(nullWithoutCatalog);
    return (page?.collections ?? []).map(({ id, name, status, products }) => ({
      ...{ id, name, status: status?.status ?? '', products: products.map(productOf) },
    }));
  },

  async reject_call(session, { call_id, from }) {
    await ask(session, (socket) => socket.rejectCall(call_id, session.callers.get(call_id) ?? from));
    return {};
  },
};

function nullWithoutCatalog(err: unknown): null {
  if (err instanceof SendRefused && err.reason === NO_CATALOG) return null;
  throw err;
}

async function readProfile(session: WhatsAppContext) {
  const me = ownJid(session);
  return ask(session, async (socket) => {
    // If an account has no picture or hides it, the network answers with an error.
    const picture = await socket.profilePictureUrl(me, 'image').catch(() => undefined);
    const [status] = (await socket.fetchStatus(me).catch(() => undefined)) ?? [];
    const about = (status as { status?: { status?: string | null } | null } | undefined)?.status?.status;
    return { name: session.creds.me?.name ?? '', about: about ?? '', picture_url: picture ?? null };
  });
}

/** The network does not report changes by this device, so the event is emitted to the library here. */
async function setName(session: WhatsAppContext, socket: LibrarySocket, name: string): Promise<void> {
  await changeState(() => socket.updateProfileName(name));
  const { me } = session.creds;
  if (me) socket.ev.emit('creds.update', { me: { ...me, name } });
}

const JPEG = Buffer.of(0xff, 0xd8, 0xff);

/** The network accepts only JPEG. */
function jpegOf(picture: string): Buffer {
  const bytes = Buffer.from(picture, 'base64');
  if (!bytes.subarray(0, 3).equals(JPEG)) throw new SendRefused('picture_not_jpeg');
  return bytes;
}

async function setPicture(socket: LibrarySocket, jpeg: Buffer): Promise<void> {
  await socket.query({
    tag: 'iq',
    attrs: { to: '@s.whatsapp.net', type: 'set', xmlns: 'w:profile:picture' },
    content: [{ tag: 'picture', attrs: { type: 'image' }, content: jpeg }],
  });
}

function businessOf(
  jid: string,
  { address, description, email, category, business_hours: hours }: LibraryBusinessProfile,
): BusinessProfile {
  return {
    jid: withoutDevice(jid),
    address: address ?? '',
    description: description ?? '',
    email: email ?? '',
    categories: category ? [{ id: '', name: category }] : [],
    business_hours_timezone: hours?.timezone ?? '',
    business_hours: (hours?.business_config ?? []).map(({ day_of_week, mode, open_time, close_time }) => ({
      ...{ day_of_week, mode, open_time: clockOf(open_time), close_time: clockOf(close_time) },
    })),
  };
}

/** Converts minutes since midnight to `HH:MM`. */
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
    price: smallestUnit(product.price ?? 0, product.currency ?? ''),
    currency: product.currency ?? '',
    is_hidden: product.isHidden === true,
    review_status: Object.values(product.reviewStatus ?? {})[0] ?? '',
    image_url: product.imageUrls?.original ?? product.imageUrls?.requested ?? '',
  };
}

/** The network states prices in thousandths of the currency. */
function smallestUnit(thousandths: number, currency: string): number {
  if (!Number.isFinite(thousandths)) return 0;
  return Math.round((thousandths / 1_000) * 10 ** digitsOf(currency));
}

function digitsOf(currency: string): number {
  if (!/^[A-Z]{3}$/.test(currency)) return 2;
  const { maximumFractionDigits } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
  }).resolvedOptions();
  return maximumFractionDigits ?? 2;
}
