import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import type { LiveConnection } from './linked-device.ts';
import { type Coding, node, type Stanza } from './nodes.ts';
import type { PhoneHandle } from './phone-handle.ts';
import { seconds } from './world.ts';

/** Numbers in [0, 1) that repeat with the same seed. */
export type Random = () => number;

export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const below = (random: Random, count: number) => Math.floor(random() * count);
const pick = <T>(random: Random, from: readonly T[]): T => from[below(random, from.length)]!;
const bytes = (random: Random, length: number) =>
  Buffer.from(Array.from({ length }, () => below(random, 256)));

/** Values that attributes do not have. */
const VALUES = [
  '',
  '0',
  '-1',
  '1e309',
  'NaN',
  '99999999999999999999',
  '@',
  '@lid',
  '@g.us',
  'a:b:c@s.whatsapp.net',
  's.whatsapp.net',
  '@s.whatsapp.net',
  'status@broadcast',
  '1:99@lid',
  '__proto__',
  'constructor',
  '\0',
  'x'.repeat(3_000),
  '👍',
];
const NAMES = ['id', 'from', 'type', 't', 'participant', 'recipient', 'class', 'error', 'offline', 'xmlns'];

/** One stanza of each kind that a client listens for, as the network could send it. */
export function stanzasOf(own: PhoneHandle, other: PhoneHandle): Stanza[] {
  const id = () => randomBytes(8).toString('hex');
  const from = other.jid;
  const t = seconds();
  const of = (type: string, content: Stanza[], attrs = {}) =>
    node('notification', { from, id: id(), t, type, ...attrs }, content);
  const group = '123456789@g.us';
  const enc = (type: string) => node('enc', { v: '2', type }, randomBytes(90));
  const participant = node('participant', { jid: from, type: 'admin' });
  return [
    node('message', { from, id: id(), t, type: 'text', notify: 'Ann' }, [enc('msg')]),
    node('message', { from, id: id(), t, type: 'text' }, [enc('pkmsg'), node('device-identity', {}, id())]),
    node('message', { from: group, participant: from, id: id(), t, type: 'text' }, [enc('skmsg')]),
    node('message', { from: own.jid, recipient: from, id: id(), t, offline: '0' }, [enc('msmsg')]),
    node('message', { from, id: id(), t }, [node('unavailable', { type: 'view_once' })]),
    node('message', { from, id: id(), t }, [node('unavailable', { type: 'hosted_unavailable_fanout' })]),
    node('message', { from: '17@broadcast', participant: own.jid, id: id(), t }, [
      enc('pkmsg'),
      node('participants', {}, [node('to', { jid: from, peer_recipient_pn: from })]),
    ]),
    node('receipt', { from: own.jid, recipient: from, id: id(), t, type: 'read-self' }),
    node('receipt', { from, id: id(), t }),
    node('receipt', { from, id: id(), t, type: 'read' }, [node('list', {}, [node('item', { id: id() })])]),
    node('receipt', { from: group, participant: from, id: id(), t, type: 'retry' }, [
      node('retry', { count: '1', id: id(), t, v: '1' }),
      node('registration', {}, Buffer.alloc(4)),
      node('keys', {}, [node('type', {}, Buffer.of(5)), node('identity', {}, randomBytes(32))]),
    ]),
    node('ack', { class: 'message', from, id: id(), t, error: '479' }),
    node('ack', { class: 'message', from, id: id(), error: '463' }),
    node('call', { from, id: id(), t }, [node('offer', { 'call-id': id(), 'call-creator': from })]),
    node('call', { from, id: id(), t }, [
      node('offer', { 'call-id': id(), 'call-creator': from, 'group-jid': group }, [node('video')]),
    ]),
    node('call', { from, id: id(), t }, [node('terminate', { 'call-id': id(), reason: 'timeout' })]),
    node('presence', { from, last: t }),
    node('chatstate', { from }, [node('composing', { media: 'audio' })]),
    of('w:gp2', [node('add', {}, [participant])], { from: group, participant: from }),
    of('w:gp2', [node('create', {}, [node('group', { id: '1', creation: t }, [participant])])]),
    of('w:gp2', [node('membership_approval_mode', {}, [node('group_join', { state: 'on' })])]),
    of('w:gp2', [node('modify', {}, [participant])], { from: group, participant: from }),
    of('encrypt', [node('count', { value: '100' })], { from: '@s.whatsapp.net' }),
    of('encrypt', [node('identity')]),
    of('devices', [node('remove', { device_hash: 'x' }, [node('device', { jid: from })])]),
    of('server_sync', [node('collection', { name: 'regular', version: '2' })]),
    of('picture', [node('set', { id: '1', author: from })], { from: group }),
    of('account_sync', [node('blocklist', {}, [node('item', { jid: from, action: 'block' })])]),
    of('account_sync', [node('blocklist', { action: 'modify', dhash: 'x' })]),
    of('account_sync', [node('disappearing_mode', { duration: '60', t })]),
    of('mediaretry', [node('rmr', { jid: from }), node('encrypt', {}, [node('enc_p', {}, id())])]),
    of('mex', [node('update', { op_name: 'NotificationUserReachoutTimelockUpdate' }, '{"data":{}}')]),
    of('newsletter', [node('message', { message_id: '1', t }, [node('plaintext', {}, randomBytes(9))])]),
    of('privacy_token', [node('tokens', {}, [node('token', { jid: from, t }, randomBytes(9))])]),
    of('link_code_companion_reg', [node('link_code_companion_reg', { stage: 'x' })]),
    node('ib', { from: '@s.whatsapp.net' }, [node('dirty', { type: 'account_sync', timestamp: t })]),
    node('ib', { from: '@s.whatsapp.net' }, [node('dirty', { type: 'groups' })]),
    node('ib', { from: '@s.whatsapp.net' }, [node('offline_preview', { count: '1' })]),
    node('ib', { from: '@s.whatsapp.net' }, [node('offline', { count: '1' })]),
    node('ib', {}, [node('edge_routing', {}, [node('routing_info', {}, Buffer.alloc(4))])]),
    node('iq', { from: '@s.whatsapp.net', id: id(), type: 'set' }, [
      node('pair-device', {}, [node('ref', {}, 'a'), node('ref')]),
    ]),
    node('iq', { from: '@s.whatsapp.net', id: id(), type: 'result' }, [node('pair-success', {})]),
    node('iq', { from: '@s.whatsapp.net', id: id(), type: 'error' }, [node('error', { code: '500' })]),
    node('success', { t, lid: own.device.jid.replace('@s.whatsapp.net', '@lid') }),
  ];
}

/** A stanza with one to three changes that leave it a stanza. */
export function changedStanza(random: Random, from: readonly Stanza[]): Stanza {
  let changed = pick(random, from);
  for (let left = 1 + below(random, 3); left > 0; left -= 1) changed = change(random, changed);
  return changed;
}

function change(random: Random, of: Stanza): Stanza {
  const { tag, attrs, content } = of;
  const inner = Array.isArray(content) ? (content as Stanza[]) : [];
  if (inner.length > 0 && random() < 0.5) {
    const at = below(random, inner.length);
    return { ...of, content: inner.map((each, i) => (i === at ? change(random, each) : each)) };
  }
  const name = pick(random, Object.keys(attrs).length > 0 ? Object.keys(attrs) : NAMES);
  const { [name]: _, ...without } = attrs;
  switch (below(random, 9)) {
    case 0:
    case 1:
      return { ...of, attrs: without };
    case 2:
    case 3:
      return { ...of, attrs: { ...attrs, [name]: pick(random, VALUES) } };
    case 4:
      return { ...of, attrs: { ...attrs, [pick(random, NAMES)]: pick(random, VALUES) } };
    case 5:
      return { tag, attrs };
    case 6:
      return { ...of, content: pick<Stanza['content']>(random, ['', 'x', bytes(random, 40), [], [of]]) };
    case 7:
      return { ...of, tag: pick(random, ['x', 'error', 'list', 'enc', 'user', '__proto__']) };
    default:
      return node('iq', { ...attrs, type: 'result' }, [...inner, nested(below(random, 300))]);
  }
}

function nested(depth: number): Stanza {
  let built = node('item', { id: 'x' });
  for (let level = 0; level < depth; level += 1) built = node('list', {}, [built]);
  return built;
}

/** A hostile frame. `breaks`: it ends the session, because the bytes behind it cannot be trusted. */
export interface HostileFrame {
  kind: string;
  breaks?: true;
  send(to: LiveConnection): void;
}

/** A correctly sealed frame whose content has no valid form, or an unknown one. */
export function sealedFrame(random: Random, coding: Coding, from: readonly Stanza[]): HostileFrame {
  const kind = pick(random, [
    'stanza',
    'stanza',
    'stanza',
    'bytes',
    'bytes',
    'random',
    'packed',
    'deep',
    'empty',
  ]);
  const plain = plainOf(kind);
  return { kind, send: (to) => to.sendSealed(plain) };

  function plainOf(named: string): Buffer {
    const whole = Buffer.from(coding.encodeNode(changedStanza(random, from)));
    switch (named) {
      case 'stanza':
        return whole;
      case 'bytes':
        return spoilt(random, whole);
      case 'random':
        return bytes(random, below(random, 200));
      case 'packed':
        return Buffer.concat([Buffer.of(2), spoilt(random, deflateSync(whole.subarray(1)))]);
      case 'deep':
        // Lists of one element that are not closed.
        return Buffer.concat([Buffer.of(0), Buffer.alloc(2 * below(random, 20_000), Buffer.of(248, 2))]);
      default:
        return Buffer.alloc(below(random, 2));
    }
  }
}

/** Bytes that are no frame, or a wrongly sealed frame. */
export function brokenFrame(random: Random, coding: Coding, from: readonly Stanza[]): HostileFrame {
  const kind = pick(random, ['flipped', 'cut', 'unsealed', 'byte', 'nothing', 'short', 'too_long']);
  const plain = coding.encodeNode(pick(random, from));
  return { kind, breaks: true, send: (to) => to.sendSealed(plain, spoil) };

  function spoil(sealed: Buffer): Buffer {
    const length = (of: number) => Buffer.of(of >> 16, (of >> 8) & 255, of & 255);
    switch (kind) {
      case 'flipped': {
        const at = 3 + below(random, sealed.length - 3);
        sealed[at] = sealed[at]! ^ (1 << below(random, 8));
        return sealed;
      }
      case 'cut':
        return Buffer.concat([length(sealed.length - 4), sealed.subarray(3, -1)]);
      case 'unsealed':
        return Buffer.concat([length(plain.length), plain]);
      case 'byte':
        return Buffer.concat([length(1), bytes(random, 1)]);
      case 'nothing':
        return length(0);
      case 'short':
        return Buffer.concat([length(15), bytes(random, 15)]);
      default: {
        // The length of two frames, followed by random bytes.
        const rest = bytes(random, 2 * sealed.length);
        return Buffer.concat([length(sealed.length + rest.length), sealed, rest]);
      }
    }
  }
}

function spoilt(random: Random, whole: Buffer): Buffer {
  const at = below(random, whole.length);
  switch (below(random, 4)) {
    case 0:
      return whole.subarray(0, at);
    case 1:
      return Buffer.concat([whole.subarray(0, at), bytes(random, 1 + below(random, 8)), whole.subarray(at)]);
    default: {
      const changed = Buffer.from(whole);
      for (let left = 1 + below(random, 4); left > 0; left -= 1)
        changed[below(random, changed.length)] = below(random, 256);
      return changed;
    }
  }
}
