import type { InstanceSettings } from '../instances/settings.ts';

/**
 * The anti-spam guard (SND-13 to SND-16): pure rules over what is known of a contact. Reading
 * and keeping that knowledge is the acceptor's part, under the instance's lock, so counts are exact
 * however many requests arrive at once.
 */
export interface ContactState {
  /** Sends since the contact last wrote. */
  outboundConsecutive: number;
  /** Temperature 0..100 at the moment `scoreAt`; it decays from there. */
  score: number;
  scoreAtMs: number;
}

export type Tier = 'cold' | 'warm' | 'engaged' | 'hot' | 'very_hot';

const TIERS: readonly { below: number; tier: Tier; maxConsecutive: number }[] = [
  { below: 20, tier: 'cold', maxConsecutive: 3 },
  { below: 40, tier: 'warm', maxConsecutive: 5 },
  { below: 60, tier: 'engaged', maxConsecutive: 7 },
  { below: 80, tier: 'hot', maxConsecutive: 10 },
  { below: Number.POSITIVE_INFINITY, tier: 'very_hot', maxConsecutive: 15 },
];

/** Consecutive sends without an answer when the temperature is off (SND-14). */
export const NO_RECIPROCITY_LIMIT = 3;

export const HALF_LIFE_MS = 7 * 24 * 3600_000;
const INBOUND_WARMS = 10;
const OUTBOUND_COOLS = 1;

/** The first four skip the duplicate rule but count toward the consecutive limit; stories skip it all (SND-16). */
const SKIPS_DUPLICATE_RULE = new Set([
  'delete',
  'edit',
  'reaction',
  'forward',
  'status_text',
  'status_image',
  'status_video',
  'status_audio',
]);

export function newContact(nowMs: number): ContactState {
  return { outboundConsecutive: 0, score: 0, scoreAtMs: nowMs };
}

export function tierOf(score: number): { tier: Tier; maxConsecutive: number } {
  return TIERS.find((row) => score < row.below)!;
}

export function scoreAt(contact: ContactState, nowMs: number): number {
  const ageMs = Math.max(0, nowMs - contact.scoreAtMs);
  return contact.score * 2 ** (-ageMs / HALF_LIFE_MS);
}

export function afterOutbound(contact: ContactState, nowMs: number): ContactState {
  return {
    outboundConsecutive: contact.outboundConsecutive + 1,
    score: Math.max(0, scoreAt(contact, nowMs) - OUTBOUND_COOLS),
    scoreAtMs: nowMs,
  };
}

export function afterInbound(contact: ContactState, nowMs: number): ContactState {
  return {
    outboundConsecutive: 0,
    score: Math.min(100, scoreAt(contact, nowMs) + INBOUND_WARMS),
    scoreAtMs: nowMs,
  };
}

/** The consecutive rules are about a person who does not answer: groups have no such count. */
export function isContact(chatJid: string): boolean {
  return !chatJid.endsWith('@g.us') && !chatJid.endsWith('@broadcast');
}

/** Whether what this operation sends is content that must not be sent twice. */
export function comparesContent(operation: string): boolean {
  return !SKIPS_DUPLICATE_RULE.has(operation);
}

/** Whether the duplicate rule applies to this operation under these settings. */
export function checksDuplicates(operation: string, settings: InstanceSettings): boolean {
  return settings.anti_spam_guard_enabled && comparesContent(operation);
}

export type ConsecutiveBlock =
  | { code: 'BLOCKED_NO_RECIPROCITY'; count: number; threshold: number }
  | {
      code: 'BLOCKED_TEMPERATURE_LIMIT';
      score: number;
      tier: Tier;
      max_consecutive: number;
      outbound_consecutive: number;
    };

/**
 * The one consecutive-sends rule that applies: temperature when it is on, the fixed limit when it is
 * off, never both. Null when the send may pass.
 */
export function checkConsecutive(
  contact: ContactState,
  settings: InstanceSettings,
  nowMs: number,
): ConsecutiveBlock | null {
  if (!settings.anti_spam_guard_enabled) return null;
  if (!settings.anti_spam_temperature_enabled) {
    if (contact.outboundConsecutive < NO_RECIPROCITY_LIMIT) return null;
    return {
      code: 'BLOCKED_NO_RECIPROCITY',
      count: contact.outboundConsecutive,
      threshold: NO_RECIPROCITY_LIMIT,
    };
  }
  const score = scoreAt(contact, nowMs);
  const { tier, maxConsecutive } = tierOf(score);
  if (contact.outboundConsecutive < maxConsecutive) return null;
  return {
    code: 'BLOCKED_TEMPERATURE_LIMIT',
    score: Math.round(score * 100) / 100,
    tier,
    max_consecutive: maxConsecutive,
    outbound_consecutive: contact.outboundConsecutive,
  };
}
