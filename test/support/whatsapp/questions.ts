import { randomBytes } from 'node:crypto';
import { answerAppState } from './app-state.ts';
import { answerGroupQuestion } from './groups.ts';
import { isSignedBy, withType } from './keys.ts';
import type { LinkedDevice } from './linked-device.ts';
import { bytesOf, child, children, node, type Stanza, textOf, uintBytes, uintOf } from './nodes.ts';
import type { Phone } from './phone.ts';
import { welcome } from './phone-outbox.ts';
import { profileQuestions } from './profiles.ts';
import type { Answer, Question } from './question.ts';
import type { Bundle } from './ratchet.ts';
import { jidIn, phoneOf, seconds, type World } from './world.ts';

/** The questions of a logged-in device to the network (`iq`), and their answers. */

const NOTHING: readonly Stanza[] = [];

/** By `xmlns`. */
const QUESTIONS: Record<string, Question> = {
  'w:p': () => NOTHING,
  'w:stats': () => NOTHING,
  'urn:xmpp:whatsapp:dirty': () => NOTHING,
  passive: becomeActive,
  encrypt: answerKeys,
  usync: answerUsync,
  abt: () => [node('props', { hash: 'posthorn', protocol: '1' })],
  blocklist: answerBlocklist,
  privacy: answerPrivacy,
  disappearing_mode: () => NOTHING,
  'w:m': answerMediaServers,
  'w:g2': answerGroupQuestion,
  'w:mex': answerTimeLock,
  ...profileQuestions,
  'w:sync:app:state': answerAppState,
};

export function answerQuestion(world: World, device: LinkedDevice, stanza: Stanza): Stanza {
  const { id, xmlns = '' } = stanza.attrs;
  const question = QUESTIONS[xmlns];
  const answer = question?.(world, device, stanza) ?? unknown(world, stanza);
  const from = stanza.attrs.to ?? '@s.whatsapp.net';
  if ('error' in answer) {
    const error = node('error', { code: String(answer.error), text: answer.text });
    return node('iq', { id, from, type: 'error' }, [error]);
  }
  return node('iq', { id, from, type: 'result' }, answer.length > 0 ? answer : undefined);
}

function unknown(world: World, stanza: Stanza): Answer {
  world.unknownQuestions.push(`${stanza.attrs.xmlns} ${children(stanza)[0]?.tag ?? ''}`);
  return { error: 501, text: 'feature-not-implemented' };
}

function answerMediaServers({ faults, media }: World): Answer {
  if (faults.hidesMediaServers > 0) {
    faults.hidesMediaServers -= 1;
    return { error: 500, text: 'internal-server-error' };
  }
  return [
    node('media_conn', { auth: media.auth, ttl: '300', auth_ttl: '300', max_buckets: '12' }, [
      node('host', { hostname: media.host, maxContentLengthBytes: '104857600' }),
    ]),
  ];
}

/** The one GraphQL query that the driver makes. */
function answerTimeLock({ faults: { timeLock } }: World): Answer {
  if (!timeLock) return { error: 503, text: 'service-unavailable' };
  timeLock.timesAsked += 1;
  const told = { is_active: timeLock.isActive };
  const body = JSON.stringify({ data: { xwa2_fetch_account_reachout_timelock: told } });
  return [node('result', {}, Buffer.from(body))];
}

/** The device is ready: a new one gets its history now, when its prekeys are there. */
function becomeActive(world: World, device: LinkedDevice): Answer {
  const phone = world.phones.get(device.number)!;
  if (!device.isWelcomed && !phone.isSlow) setImmediate(() => welcome(world, phone, device));
  return NOTHING;
}

function answerKeys(world: World, device: LinkedDevice, stanza: Stanza): Answer {
  const what = children(stanza)[0]?.tag;
  if (stanza.attrs.type === 'get' && what === 'count') {
    return [node('count', { value: String(device.preKeys.length) })];
  }
  if (stanza.attrs.type === 'get' && what === 'digest') {
    return [node('digest', {}, [node('registration', {}, uintBytes(device.registrationId, 4))])];
  }
  if (stanza.attrs.type === 'get' && what === 'key') {
    const users = children(child(stanza, 'key'), 'user');
    return [
      node(
        'list',
        {},
        users.map((user) => bundleFor(world, user.attrs.jid!)),
      ),
    ];
  }
  if (what === 'rotate') {
    takeSignedPreKey(device, child(child(stanza, 'rotate'), 'skey'));
    return NOTHING;
  }
  if (!bytesOf(child(stanza, 'identity')).equals(device.identity))
    throw new Error('Prekeys of another identity');
  takeSignedPreKey(device, child(stanza, 'skey'));
  for (const key of children(child(stanza, 'list'), 'key')) {
    const id = uintOf(child(key, 'id'));
    const known = device.preKeys.findIndex((each) => each.id === id);
    if (known >= 0) device.preKeys.splice(known, 1);
    device.preKeys.push({ id, key: bytesOf(child(key, 'value')) });
  }
  return NOTHING;
}

function takeSignedPreKey(device: LinkedDevice, skey: Stanza | undefined): void {
  const key = bytesOf(child(skey, 'value'));
  const signature = bytesOf(child(skey, 'signature'));
  if (!isSignedBy(device.identity, withType(key), signature))
    throw new Error('Wrong signature of a signed prekey');
  device.signedPreKey = { id: uintOf(child(skey, 'id')), key, signature };
}

function bundleFor(world: World, jid: string): Stanza {
  const phone = phoneOf(world, jid);
  const id = Number(/:(\d+)@/.exec(jid)?.[1] ?? 0);
  const device = phone?.devices.get(id);
  if (!phone || (id > 0 && !device)) {
    return node('user', { jid }, [node('error', { code: '404', text: 'item-not-found' })]);
  }
  const fault = world.faults.preKeys?.(phone.number) ?? null;
  // As whatsapp-rust and whatsmeow know the network: an error in place of the keys of this one device.
  if (fault === 'none')
    return node('user', { jid }, [node('error', { code: '406', text: 'not-acceptable' })]);
  const bundle = device ? device.takeBundle() : phone.takeBundle();
  const signed = device ? [node('device-identity', {}, device.signedIdentity)] : [];
  return node('user', { jid, t: seconds() }, [...bundleNodes(bundle, fault === 'spoilt'), ...signed]);
}

function bundleNodes(
  { registrationId, identity, signedPreKey, preKey }: Bundle,
  isSpoilt: boolean,
): Stanza[] {
  const signature = Buffer.from(signedPreKey.signature);
  if (isSpoilt) signature[20] = signature[20]! ^ 1;
  const key = preKey && [
    node('key', {}, [node('id', {}, uintBytes(preKey.id, 3)), node('value', {}, preKey.key)]),
  ];
  return [
    node('registration', {}, uintBytes(registrationId, 4)),
    node('type', {}, Buffer.from([5])),
    node('identity', {}, identity),
    node('skey', {}, [
      node('id', {}, uintBytes(signedPreKey.id, 3)),
      node('value', {}, signedPreKey.key),
      node('signature', {}, signature),
    ]),
    ...(key ?? []),
  ];
}

function answerUsync(world: World, _device: LinkedDevice, stanza: Stanza): Answer {
  const usync = child(stanza, 'usync');
  const asked = children(child(usync, 'query')).map((protocol) => protocol.tag);
  const users = children(child(usync, 'list'), 'user').map((user) => {
    const number = child(user, 'contact')?.content ? textOf(child(user, 'contact')).replace('+', '') : null;
    const jid = user.attrs.jid ?? `${number}@s.whatsapp.net`;
    const phone = number === null ? phoneOf(world, jid) : accountOf(world, number);
    const answers = asked.map((protocol) => protocolAnswer(world, protocol, phone, number));
    return node(
      'user',
      { jid: phone && number !== null ? phone.jid : jid },
      answers.filter((each) => each !== null),
    );
  });
  const { sid, mode, context } = usync?.attrs ?? {};
  const result = node(
    'result',
    {},
    asked.map((protocol) => node(protocol)),
  );
  return [node('usync', { sid, mode, context, last: 'true', index: '0' }, [result, node('list', {}, users)])];
}

/** Accounts in Brazil from before 2012 have no ninth digit, and are also found with it. */
function accountOf(world: World, number: string): Phone | undefined {
  return world.phones.get(number) ?? world.phones.get(number.replace(/^(55\d{2})9(\d{8})$/, '$1$2'));
}

function protocolAnswer(
  world: World,
  protocol: string,
  phone: Phone | undefined,
  asked: string | null,
): Stanza | null {
  if (protocol === 'contact')
    return node(
      'contact',
      { type: phone ? 'in' : 'out' },
      asked === null ? undefined : Buffer.from(`+${asked}`),
    );
  if (!phone) return null;
  // The certificate of a name is opaque to clients.
  if (protocol === 'business')
    return node(
      'business',
      {},
      phone.isBusiness ? [node('verified_name', { v: '1' }, randomBytes(64))] : undefined,
    );
  if (protocol === 'lid') {
    const { namesLid } = world.faults;
    return namesLid?.(phone.number) === false ? null : node('lid', { val: phone.lid });
  }
  if (protocol === 'status') return node('status', { t: seconds() }, Buffer.from(phone.about));
  if (protocol === 'disappearing_mode') return node('disappearing_mode', { duration: '0', t: seconds() });
  if (protocol !== 'devices') return null;
  const fault = world.faults.devices?.(phone.number);
  if (fault === 'none') return node('devices', {}, [node('device-list')]);
  // As whatsapp-rust knows the network: an error in place of the devices of this one person.
  if (fault === 'error') return node('devices', {}, [node('error', { code: '404', text: 'item-not-found' })]);
  const linked = [...phone.devices.keys()].map((id) =>
    node('device', { id: String(id), 'key-index': String(id) }),
  );
  return node('devices', {}, [
    node('device-list', { hash: randomBytes(4).toString('hex') }, [node('device', { id: '0' }), ...linked]),
    node('key-index-list', { ts: seconds() }, Buffer.alloc(0)),
  ]);
}

function answerBlocklist(world: World, device: LinkedDevice, stanza: Stanza): Answer {
  const phone = world.phones.get(device.number)!;
  for (const item of children(stanza, 'item')) {
    const other = phoneOf(world, item.attrs.jid ?? item.attrs.pn_jid ?? '');
    if (!other) return { error: 404, text: 'item-not-found' };
    if (item.attrs.action === 'block') phone.blocked.add(other.number);
    else phone.blocked.delete(other.number);
  }
  const items = [...phone.blocked].map((number) => {
    const other = world.phones.get(number)!;
    return node('item', { jid: jidIn('lid', other, 0), pn_jid: other.jid });
  });
  return [node('list', { dhash: randomBytes(4).toString('hex') }, items)];
}

function answerPrivacy(world: World, device: LinkedDevice, stanza: Stanza): Answer {
  const tokens = child(stanza, 'tokens');
  if (tokens) {
    for (const { attrs } of children(tokens, 'token'))
      world.tokensGiven.push({ by: device.number, to: attrs.jid ?? '' });
    return NOTHING;
  }
  const phone = world.phones.get(device.number)!;
  for (const category of children(child(stanza, 'privacy'), 'category')) {
    phone.privacy.set(category.attrs.name!, category.attrs.value!);
  }
  const categories = [...phone.privacy].map(([name, value]) => node('category', { name, value }));
  return [node('privacy', {}, categories)];
}
