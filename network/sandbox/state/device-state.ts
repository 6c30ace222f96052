/**
 * State that all devices of an account share: labels, states of chats, saved names, blocked numbers. It belongs to the
 * phone and outlives its pairings. The last fact about each thing is kept.
 */
import type { Jid } from '@posthorn/contract/jid.ts';
import { LABELS_MAX } from '@posthorn/contract/limits.ts';
import type { FactBody } from '../fact-frames.ts';

const SHARED = ['label', 'label_chat', 'label_message', 'chat', 'contact', 'blocked'] as const;

/** A fact of the account's own state. */
export type DeviceFact = Extract<FactBody, { kind: (typeof SHARED)[number] }>;
/** The same before it has a revision. */
export type DeviceChange = DeviceFact extends infer F
  ? F extends DeviceFact
    ? Omit<F, 'revision'>
    : never
  : never;

export interface DeviceState {
  /** The highest so far. */
  revision: number;
  /** By what each is about. */
  readonly facts: Map<string, DeviceFact & { at: number }>;
}

/** A phone, which has such a state. */
interface Owner {
  readonly device: DeviceState;
}

/** Pinned chats of one account. */
const PINS_MAX = 3;

export function newDeviceState(): DeviceState {
  return { revision: 0, facts: new Map() };
}

/** Applies a fact without telling anybody. */
export function applyDeviceFact(phone: Owner, fact: DeviceFact, at: number): void {
  const { device } = phone;
  device.revision = Math.max(device.revision, fact.revision);
  for (const [key, part] of partsOf(fact)) device.facts.set(key, { ...part, at });
  if (fact.kind !== 'label' || !fact.deleted) return;
  for (const [key, other] of device.facts) {
    if (isLink(other) && other.labelId === fact.labelId) device.facts.delete(key);
  }
}

/** A fact about a chat says several things, each of which a later one replaces by itself. */
function partsOf(fact: DeviceFact): [string, DeviceFact][] {
  switch (fact.kind) {
    case 'label':
      return [[`label ${fact.labelId}`, fact]];
    case 'label_chat':
      return [[`label ${fact.labelId} chat ${fact.chat}`, fact]];
    case 'label_message':
      return [[`label ${fact.labelId} message ${fact.chat} ${fact.target.id}`, fact]];
    case 'contact':
    case 'blocked':
      return [[`${fact.kind} ${fact.jid}`, fact]];
    case 'chat': {
      const { kind, revision, chat, ...said } = fact;
      return Object.entries(said)
        .filter(([, value]) => value !== undefined)
        .map(([field, value]) => [`chat ${chat} ${field}`, { kind, revision, chat, [field]: value }]);
    }
  }
}

/** All facts, in the order in which they came, for a new pairing. */
export function deviceFacts(phone: Owner): (DeviceFact & { at: number })[] {
  return [...phone.device.facts.values()].sort((a, b) => a.revision - b.revision);
}

type LinkFact = Extract<DeviceFact, { kind: 'label_chat' | 'label_message' }>;

function isLink(fact: DeviceFact): fact is LinkFact & { at: number } {
  return fact.kind === 'label_chat' || fact.kind === 'label_message';
}

export function labelOf(phone: Owner, labelId: string): Extract<DeviceFact, { kind: 'label' }> | null {
  const fact = phone.device.facts.get(`label ${labelId}`);
  return fact?.kind === 'label' && !fact.deleted ? fact : null;
}

export function labelsOf(phone: Owner): Extract<DeviceFact, { kind: 'label' }>[] {
  return [...phone.device.facts.values()].filter((fact) => fact.kind === 'label').filter((l) => !l.deleted);
}

/** The first slot without a label; null when all have one. */
export function freeSlot(phone: Owner): string | null {
  const slots = Array.from({ length: LABELS_MAX }, (_, at) => String(at + 1));
  return slots.find((slot) => !labelOf(phone, slot)) ?? null;
}

export function linksOf(phone: Owner): LinkFact[] {
  return [...phone.device.facts.values()].filter(isLink).filter((link) => link.associated);
}

/** The states of chats as the phone shows them. */
export function chatStatesOf(phone: Owner): Record<Jid, Record<string, unknown>> {
  const states: Record<Jid, Record<string, unknown>> = {};
  for (const fact of phone.device.facts.values()) {
    if (fact.kind !== 'chat') continue;
    const { kind: _k, revision: _r, at: _a, chat, ...said } = fact;
    states[chat] = { ...states[chat], ...said };
  }
  return states;
}

/** A further chat can't be pinned. */
export function hasAllPins(phone: Owner, chat: Jid): boolean {
  const pinned = Object.entries(chatStatesOf(phone)).filter(([jid, state]) => state.pinned && jid !== chat);
  return pinned.length >= PINS_MAX;
}

/** The name under which a number is saved. */
export function savedName(phone: Owner, jid: Jid): string {
  const fact = phone.device.facts.get(`contact ${jid}`);
  return fact?.kind === 'contact' ? fact.name : '';
}
