import { randomBytes } from 'node:crypto';
import type { LinkedDevice } from './linked-device.ts';
import { bytesOf, child, children, node, type Stanza, textOf } from './nodes.ts';
import type { Phone, Storefront } from './phone.ts';
import type { Question } from './question.ts';
import { phoneOf, type World } from './world.ts';

/** The profiles of accounts: the about text, a picture, and the shelves of a business. By `xmlns`. */
export const profileQuestions: Record<string, Question> = {
  status(world, device, stanza) {
    if (child(stanza, 'privacy')) return answerStatusPrivacy(world, device);
    world.phones.get(device.number)!.about = textOf(child(stanza, 'status'));
    return [];
  },

  'w:profile:picture'(world, device, stanza) {
    const own = world.phones.get(device.number)!;
    const picture = child(stanza, 'picture');
    if (stanza.attrs.type === 'set') {
      if (stanza.attrs.target) return { error: 401, text: 'not-authorized' };
      own.picture = picture ? bytesOf(picture) : null;
      return picture ? [node('picture', { id: randomBytes(4).readUInt32BE().toString() })] : [];
    }
    const phone = phoneOf(world, stanza.attrs.target ?? '');
    if (!phone?.picture) return { error: 404, text: 'item-not-found' };
    const path = `/v/pictures/${phone.number}.jpg`;
    world.media.blobs.set(path, phone.picture);
    const url = `https://${world.media.host}${path}`;
    return [node('picture', { type: picture?.attrs.type, id: '1', url, direct_path: path })];
  },

  'w:biz'(world, _device, stanza) {
    const asked = children(child(stanza, 'business_profile'), 'profile');
    const profiles = asked.flatMap(({ attrs: { jid } }) => {
      const phone = phoneOf(world, jid ?? '');
      return phone?.isBusiness ? [node('profile', { jid }, profileOf(phone))] : [];
    });
    return [node('business_profile', { v: '244' }, profiles)];
  },

  'w:biz:catalog'(world, _device, stanza) {
    const catalog = child(stanza, 'product_catalog');
    if (catalog) return catalogPage(shelvesOf(world, catalog.attrs.jid), catalog);
    const asked = child(stanza, 'collections');
    const store = shelvesOf(world, asked?.attrs.biz_jid);
    if (!store) return { error: 404, text: 'item-not-found' };
    const most = Number(textOf(child(asked, 'collection_limit')));
    return [
      node(
        'collections',
        {},
        store.collections.slice(0, most).map((each) => collectionOf(store, each)),
      ),
    ];
  },
};

function shelvesOf(world: World, jid: string | undefined): Storefront | null {
  return phoneOf(world, jid ?? '')?.storefront ?? null;
}

function profileOf({ storefront }: Phone): Stanza[] {
  const text = (tag: string, value: string) => node(tag, {}, Buffer.from(value));
  if (!storefront) return [text('description', 'A business')];
  const { address, description, email, category, hours } = storefront;
  const days = hours.days.map(({ day, mode, open, close }) =>
    node('business_hours_config', {
      ...{ day_of_week: day, mode },
      open_time: open?.toString(),
      close_time: close?.toString(),
    }),
  );
  return [
    text('address', address),
    text('description', description),
    text('email', email),
    node('categories', {}, [node('category', { id: '133436743388217' }, Buffer.from(category))]),
    node('business_hours', { timezone: hours.timezone }, days),
  ];
}

/** A page ends with a cursor while there is more; it is opaque to the client. */
function catalogPage(store: Storefront | null, asked: Stanza): ReturnType<Question> {
  if (!store) return { error: 404, text: 'item-not-found' };
  const after = child(asked, 'after');
  const start = after ? placeOf(textOf(after)) : 0;
  if (start === null) return { error: 400, text: 'bad-request' };
  const end = start + Number(textOf(child(asked, 'limit')));
  const isMore = end < store.products.length;
  const cursor = Buffer.from(Buffer.from(`${CURSOR}${end}`).toString('base64'));
  const paging = isMore ? [node('paging', {}, [node('after', {}, cursor)])] : [];
  return [node('product_catalog', {}, [...store.products.slice(start, end).map(productOf), ...paging])];
}

const CURSOR = 'products before: ';

function placeOf(cursor: string): number | null {
  const words = Buffer.from(cursor, 'base64').toString('utf8');
  return words.startsWith(CURSOR) ? Number(words.slice(CURSOR.length)) : null;
}

function productOf(product: Storefront['products'][number]): Stanza {
  const text = (tag: string, value: string) => node(tag, {}, Buffer.from(value));
  return node('product', { is_hidden: String(product.isHidden) }, [
    text('id', product.id),
    text('name', product.name),
    text('description', product.description),
    text('retailer_id', product.retailerId),
    text('url', product.url),
    text('price', String(product.price)),
    text('currency', product.currency),
    node('media', {}, [
      node('image', {}, [
        text('id', `${product.id}-1`),
        text('request_image_url', `${product.imageUrl}?small`),
        text('original_image_url', product.imageUrl),
      ]),
    ]),
    node('status_info', {}, [text('status', product.status), text('can_appeal', 'false')]),
  ]);
}

function collectionOf(
  { products }: Storefront,
  { id, name, status, products: ids }: Storefront['collections'][number],
): Stanza {
  const text = (tag: string, value: string) => node(tag, {}, Buffer.from(value));
  const held = products.filter((product) => ids.includes(product.id));
  return node('collection', {}, [
    text('id', id),
    text('name', name),
    ...held.map(productOf),
    node('status_info', {}, [text('status', status), text('can_appeal', 'false')]),
  ]);
}

/** Answers which people may see the statuses of the account. */
function answerStatusPrivacy(world: World, device: LinkedDevice): ReturnType<Question> {
  const phone = world.phones.get(device.number)!;
  phone.statusPrivacyAsked += 1;
  const { statusPrivacy } = phone;
  if (!statusPrivacy) return { error: 404, text: 'item-not-found' };
  if (statusPrivacy === 'busy') return { error: 429, text: 'rate-overlimit' };
  const { type, list } = statusPrivacy;
  const users = list.map((jid) => node('user', { jid }));
  return [
    node('privacy', {}, [node('list', { type: 'contacts' }), node('list', { type, default: 'true' }, users)]),
  ];
}
