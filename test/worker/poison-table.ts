/** The phone that writes all of it. */
export const FRIEND = '5511988880001';
export const jid = (phone: string) => `${phone}@s.whatsapp.net`;
const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });
const MEGABYTE = 'x'.repeat(1_000_000);

let ids = 0;
const newId = () => `POISON${++ids}`;
/** A message in the network's form, with a fault in it. */
export const message = (more: object) => ({
  k: 'message',
  id: newId(),
  chat: jid(FRIEND),
  from: jid(FRIEND),
  name: 'Ana',
  type: 'text',
  content: { text: 'poison' },
  at: Date.now(),
  ...more,
});
const media = (more: object) => ({
  handle: 'A'.repeat(32),
  mime_type: 'image/png',
  file_name: 'a.png',
  size_bytes: 10,
  ...more,
});
const receipt = (more: object) => ({
  k: 'delivered',
  id: 'A'.repeat(32),
  chat: jid(FRIEND),
  by: jid(FRIEND),
  at: Date.now(),
  ...more,
});
const change = (more: object) => ({
  k: 'edited',
  id: 'GOOD',
  env: newId(),
  chat: jid(FRIEND),
  from: jid(FRIEND),
  content: { text: 'edited' },
  at: Date.now(),
  ...more,
});

/** Events that a hostile phone or a broken network might send, and whether each causes a message. */
export const POISON: Record<string, { event: () => object; told: boolean; reason?: string }> = {
  'NUL in a text': { event: () => message({ content: { text: 'a\u0000b' } }), told: true },
  'NUL in a name': { event: () => message({ name: 'A\u0000na' }), told: true },
  'NUL in a key': { event: () => message({ content: { 'te\u0000xt': 1 } }), told: true },
  'half a surrogate pair': { event: () => message({ content: { text: 'a\ud800b' } }), told: true },
  'a name of a megabyte': { event: () => message({ name: MEGABYTE }), told: true },
  'a text of a megabyte': {
    event: () => message({ content: { text: MEGABYTE } }),
    told: true,
    reason: 'content_cut',
  },
  'a megabyte of small fields': {
    event: () => message({ content: { list: Array.from({ length: 100_000 }, (_, i) => `field ${i}`) } }),
    told: true,
    reason: 'content_unreadable',
  },
  'an object of 4,000 levels': {
    event: () => message({ content: { deep: deep(4_000) } }),
    told: true,
    reason: 'content_unreadable',
  },
  'a date beyond dates': { event: () => message({ at: 1e20 }), told: true },
  'a date of the year 200,000': { event: () => message({ at: 6.2e15 }), told: true },
  'a negative date': { event: () => message({ at: -8.64e15 }), told: true },
  'a date that is a text': {
    event: () => message({ at: 'yesterday' }),
    told: true,
    reason: 'content_unreadable',
  },
  'a type that nobody knows': { event: () => message({ type: 'hologram' }), told: true },
  'a type of a megabyte': { event: () => message({ type: MEGABYTE }), told: true },
  'a type that is a number': { event: () => message({ type: 7 }), told: true, reason: 'content_unreadable' },
  'no type and no content': {
    event: () => message({ type: undefined, content: undefined }),
    told: true,
    reason: 'content_unreadable',
  },
  'a content that is a list': {
    event: () => message({ content: [1] }),
    told: true,
    reason: 'content_unreadable',
  },
  'a forwarding score beyond integers': { event: () => message({ fwd: 2 ** 40 }), told: true },
  'a negative forwarding score': { event: () => message({ fwd: -5 }), told: true },
  'a fractional forwarding score': {
    event: () => message({ fwd: 1.5 }),
    told: true,
    reason: 'content_unreadable',
  },
  'a text that is an object without a text': {
    event: () => message({ chat: 'status@broadcast', content: { text: { toString: 1, valueOf: 1 } } }),
    told: false,
  },
  'a reply whose words are an object without a text': {
    event: () => message({ status: 'S1', content: { text: { toString: 1, valueOf: 1 } } }),
    told: true,
  },
  'a reaction to a status that is an object': {
    event: () => message({ status: 'S1', type: 'reaction', content: { emoji: { toString: 1 } } }),
    told: false,
  },
  'a status from the year 200,000': {
    event: () => message({ chat: 'status@broadcast', at: 6.2e15 }),
    told: false,
  },
  'a vote of anything': {
    event: () =>
      message({ type: 'poll_vote', content: { poll_message_id: { a: 1 }, selected_options: '\u0000' } }),
    told: true,
  },
  'a quoted id of a megabyte': { event: () => message({ quoted: MEGABYTE }), told: true },
  'an id of a megabyte': { event: () => message({ id: MEGABYTE }), told: false },
  'an id that is none': { event: () => message({ id: '' }), told: false },
  'no id': { event: () => message({ id: undefined }), told: false },
  'a chat of a megabyte': { event: () => message({ chat: MEGABYTE }), told: false },
  'NUL in a chat': { event: () => message({ chat: '\u0000@s.whatsapp.net' }), told: false },
  'media that is a text': { event: () => message({ type: 'image', content: { media: 'x' } }), told: true },
  'media without a type': {
    event: () => message({ type: 'image', content: { media: { handle: 5 } } }),
    told: true,
    reason: 'media_invalid',
  },
  'media whose handle is an address': {
    event: () => message({ type: 'image', content: { media: media({ handle: 'http://127.0.0.1:1/x' }) } }),
    told: true,
    reason: 'media_invalid',
  },
  'media that is not there': {
    event: () => message({ type: 'image', content: { media: media({ size_bytes: -1 }) } }),
    told: true,
    reason: 'media_expired',
  },
  'a receipt of a date beyond dates': { event: () => receipt({ at: 1e20 }), told: false },
  'a receipt by nobody': { event: () => receipt({ by: '\u0000' }), told: false },
  'a receipt of a megabyte': { event: () => receipt({ by: MEGABYTE }), told: false },
  'a view of a status of a megabyte': {
    event: () => receipt({ k: 'read', chat: 'status@broadcast', id: MEGABYTE }),
    told: false,
  },
  'a view at no time': {
    event: () => receipt({ k: 'read', chat: 'status@broadcast', id: 'S2', at: 1e20 }),
    told: false,
  },
  'an edit at no time': { event: () => change({ at: 1e20 }), told: false },
  'an edit with NUL': { event: () => change({ content: { text: 'a\u0000b' } }), told: false },
  'an edit of a megabyte': { event: () => change({ content: { text: MEGABYTE } }), told: false },
  'an edit that is a text': { event: () => change({ content: 'x' }), told: false },
  'a deletion at no time': { event: () => change({ k: 'deleted', at: -1e20 }), told: false },
  'a deletion of a status by a megabyte': {
    event: () => change({ k: 'deleted', chat: 'status@broadcast', from: MEGABYTE }),
    told: false,
  },
  'a star of nothing': { event: () => ({ k: 'starred', starred: 'x' }), told: false },
  'an event of a kind that nobody knows': { event: () => ({ k: 'teleport', data: 1 }), told: false },
  'an event of no kind': { event: () => ({}), told: false },
};
