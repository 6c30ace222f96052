/** Facts from the account's other devices and the network, besides messages. */
import { isGroupJid, isLidJid, isUserJid, phoneOf } from '@posthorn/contract/jid.ts';
import type { NetworkFact, PresenceUpdate } from '@posthorn/core/network/driver.ts';
import { audienceChange } from './audience.ts';
import { blockedFact } from './blocked.ts';
import { KINDS } from './keys.ts';
import type { LibraryGroup } from './library-group-types.ts';
import type { LibraryChat, LibraryContact, LibraryEvents, LibrarySocket, WireNode } from './library-types.ts';
import { type Connection, nameOf, nextRevision, ownJid, type WhatsAppContext } from './session-context.ts';
import { tell } from './tell-facts.ts';
import { groupOf } from './wire/groups.ts';
import { isOurChat, withoutDevice } from './wire/jids.ts';
import { childrenOf } from './wire/nodes.ts';
import { mutedUntil, numberOf } from './wire/numbers.ts';

export function listenToFacts(session: WhatsAppContext, ev: LibrarySocket['ev']): void {
  ev.on('labels.edit', (label) => tell(session, async () => [labelFact(session, label)]));
  ev.on('labels.association', (told) => tell(session, () => labelLink(session, told)));
  ev.on('chats.update', (chats) => {
    // Each message updates its chat. Without anything to tell, messages that arrive together stay together.
    const changed = chats.filter((update) => Object.keys(saidOf(update)).length > 0);
    if (changed.length > 0) tell(session, async () => (await each(changed, chatFact)).flat());
  });
  ev.on('contacts.upsert', (contacts) => onContacts(session, contacts));
  ev.on('blocklist.update', ({ blocklist, type }) =>
    tell(session, () => each(blocklist, (_, jid) => blockedFact(session, jid, type === 'add'))),
  );
  ev.on('lid-mapping.update', ({ lid, pn }) =>
    tell(session, async () => lidFact(session, withoutDevice(lid), withoutDevice(pn))),
  );
  ev.on('groups.upsert', (groups) => tell(session, () => each(groups, groupFact)));
  ev.on('group-participants.update', (change) => tell(session, () => participantsFact(session, change)));
  ev.on('call', (calls) => tell(session, async () => (await each(calls, callFact)).flat()));
  ev.on('settings.update', ({ setting, value }) => onSetting(session, setting, value));
  ev.on('messages.update', (updates) => onStars(session, updates));
  ev.on('presence.update', (told) => void onPresence(session, told).catch(() => undefined));

  async function each<In, Out>(
    items: readonly In[],
    make: (session: WhatsAppContext, item: In) => Promise<Out>,
  ) {
    const made: Out[] = [];
    for (const item of items) made.push(await make(session, item));
    return made;
  }
}

function labelFact(session: WhatsAppContext, label: LibraryEvents['labels.edit']): NetworkFact {
  return {
    kind: 'label',
    revision: nextRevision(session),
    labelId: label.id,
    name: label.name ?? '',
    color: label.color ?? 0,
    deleted: label.deleted === true,
    at: session.deps.clock.now(),
  };
}

async function labelLink(
  session: WhatsAppContext,
  { association, type }: LibraryEvents['labels.association'],
): Promise<NetworkFact[]> {
  const chat = await nameOf(session, association.chatId);
  if (!isOurChat(chat)) return [];
  const link = {
    revision: nextRevision(session),
    labelId: association.labelId,
    chat,
    associated: type === 'add',
    at: session.deps.clock.now(),
  };
  const { messageId } = association;
  return [
    messageId
      ? { kind: 'label_message', ...link, target: { id: messageId } }
      : { kind: 'label_chat', ...link },
  ];
}

async function chatFact(session: WhatsAppContext, update: LibraryChat): Promise<NetworkFact[]> {
  if (!update.id) return [];
  const chat = await nameOf(session, update.id);
  if (!isOurChat(chat)) return [];
  const said = saidOf(update);
  return [{ kind: 'chat', revision: nextRevision(session), chat, ...said, at: session.deps.clock.now() }];
}

/** The changed fields of a chat. We count unread messages ourselves. */
function saidOf({ archived, pinned, muteEndTime, unreadCount }: LibraryChat) {
  return {
    ...(typeof archived === 'boolean' ? { archived } : {}),
    ...(pinned === undefined ? {} : { pinned: (numberOf(pinned) ?? 0) > 0 }),
    ...(muteEndTime === undefined ? {} : { mutedUntil: mutedUntil(muteEndTime) }),
    // If a device says so, the library writes -1 for "marked as unread" and 0 or null for "read".
    ...(unreadCount === null || unreadCount === 0
      ? { read: true }
      : unreadCount === -1
        ? { read: false }
        : {}),
  };
}

/** Stores and reports saved contacts; they form the audience of statuses. */
function onContacts(session: WhatsAppContext, contacts: readonly LibraryContact[]): void {
  tell(session, async () => {
    const facts: NetworkFact[] = [];
    for (const contact of contacts) {
      const jid = contact.id && (await nameOf(session, contact.id, contact.phoneNumber));
      if (!jid || (!isUserJid(jid) && !isLidJid(jid)) || contact.name === undefined) continue;
      const name = contact.name ?? '';
      const value = name === '' ? null : { name };
      await session.request.keys.write([{ kind: KINDS.contact, id: jid, value }]);
      facts.push({
        kind: 'contact',
        revision: nextRevision(session),
        jid,
        name,
        at: session.deps.clock.now(),
      });
    }
    return facts;
  });
}

export function lidFact(session: WhatsAppContext, lid: string, phone: string): NetworkFact[] {
  if (!isLidJid(lid) || !isUserJid(phone)) return [];
  return [{ kind: 'lid', lid, phone: phoneOf(phone), at: session.deps.clock.now() }];
}

export async function groupFact(session: WhatsAppContext, group: LibraryGroup): Promise<NetworkFact> {
  return {
    kind: 'group',
    group: await groupOf(group, (jid, other) => nameOf(session, jid, other)),
    at: session.deps.clock.now(),
  };
}

/**
 * Learns the numbers of people whom a notification of a group names by anonymous ids, before what it says is told: the library
 * drops that of who has changed something.
 */
export function learnPeople(session: WhatsAppContext, { socket }: Connection, node: WireNode): void {
  const { participant: lid = '', participant_pn: pn } = node.attrs;
  const changed = childrenOf(node).flatMap((change) => childrenOf(change));
  const named = [
    { lid, pn },
    ...changed.map(({ attrs }) => ({ lid: attrs.jid ?? '', pn: attrs.phone_number })),
  ];
  // It names the former number of somebody who has changed it first.
  const pairs = new Map(
    named.flatMap(({ lid, pn }) => (isLidJid(withoutDevice(lid)) && pn ? [[lid, { lid, pn }]] : [])),
  );
  if (pairs.size === 0) return;
  session.arrivals
    .run(() => socket.signalRepository.lidMapping.storeLIDPNMappings([...pairs.values()]))
    .catch(() => undefined);
}

type GroupChange = LibraryEvents['groups.update'][number];

export function onGroupChanges(session: WhatsAppContext, changes: readonly GroupChange[]): void {
  tell(session, async () => {
    const facts: NetworkFact[] = [];
    for (const change of changes) facts.push(...(await groupChange(session, change)));
    return facts;
  });
}

async function groupChange(session: WhatsAppContext, change: GroupChange): Promise<NetworkFact[]> {
  const { id, author, subject, desc, announce, restrict } = change;
  const said = {
    ...(typeof subject === 'string' ? { name: subject } : {}),
    // A description that was deleted is there as undefined.
    ...('desc' in change ? { description: desc ?? '' } : {}),
    ...(typeof announce === 'boolean' ? { announce } : {}),
    ...(typeof restrict === 'boolean' ? { locked: restrict } : {}),
  };
  if (!id || !isGroupJid(id) || Object.keys(said).length === 0) return [];
  const by = author ? await nameOf(session, author) : null;
  return [{ kind: 'group_changed', chat: id, by, ...said, at: session.deps.clock.now() }];
}

const PARTICIPANT_ACTIONS = { add: 'add', remove: 'remove', promote: 'promote', demote: 'demote' } as const;

async function participantsFact(
  session: WhatsAppContext,
  { id, author, authorPn, participants, action }: LibraryEvents['group-participants.update'],
): Promise<NetworkFact[]> {
  const known = PARTICIPANT_ACTIONS[action as keyof typeof PARTICIPANT_ACTIONS];
  if (!known || !isGroupJid(id)) return [];
  const names: string[] = [];
  for (const each of participants)
    names.push(
      typeof each === 'string'
        ? await nameOf(session, each)
        : await nameOf(session, each.id, each.phoneNumber),
    );
  const by = author ? await nameOf(session, author, authorPn) : null;
  const at = session.deps.clock.now();
  return [{ kind: 'group_participants', chat: id, by, action: known, participants: names, at }];
}

/** Maximum calls that may still ring. */
const CALLERS_MAX = 100;

/** Reports a call when it rings; its end is not reported. */
async function callFact(
  session: WhatsAppContext,
  call: LibraryEvents['call'][number],
): Promise<NetworkFact[]> {
  if (call.status !== 'offer') return [];
  const { callers } = session;
  callers.set(call.id, call.from);
  if (callers.size > CALLERS_MAX) callers.delete(callers.keys().next().value!);
  const from = await nameOf(session, call.from, call.callerPn);
  return [
    {
      kind: 'call',
      callId: call.id,
      from,
      video: call.isVideo === true,
      group: call.groupJid ?? null,
      at: call.date,
    },
  ];
}

function onSetting(session: WhatsAppContext, setting: string, value: unknown): void {
  if (setting !== 'statusPrivacy') return;
  const change = audienceChange(value);
  session.arrivals.run(() => session.request.keys.write([change])).catch(() => undefined);
}

function onStars(session: WhatsAppContext, updates: LibraryEvents['messages.update']): void {
  for (const { key, update } of updates) {
    const { starred } = update;
    if (typeof starred !== 'boolean' || !key.id || !key.remoteJid) continue;
    const { id: networkId, remoteJid } = key;
    session.arrivals
      .run(async () => {
        const chat = await nameOf(session, remoteJid, key.remoteJidAlt);
        const at = session.deps.clock.now();
        await session.sink.changes([
          { networkId, chat, from: ownJid(session), at, kind: 'starred', starred },
        ]);
      })
      .catch(() => undefined);
  }
}

const PRESENCE_STATES = new Set(['available', 'unavailable', 'composing', 'recording', 'paused']);

async function onPresence(
  session: WhatsAppContext,
  { id, presences }: LibraryEvents['presence.update'],
): Promise<void> {
  const at = session.deps.clock.now();
  const updates: PresenceUpdate[] = [];
  for (const [jid, { lastKnownPresence, lastSeen }] of Object.entries(presences)) {
    if (!PRESENCE_STATES.has(lastKnownPresence)) continue;
    const state = lastKnownPresence as PresenceUpdate['state'];
    const types = state === 'composing' || state === 'recording' || state === 'paused';
    updates.push({
      jid: await nameOf(session, jid),
      chat: types ? await nameOf(session, id) : null,
      state,
      lastSeen: lastSeen ? new Date(lastSeen * 1000) : null,
      at,
    });
  }
  if (updates.length > 0 && session.phase === 'live') session.sink.presence(updates);
}
