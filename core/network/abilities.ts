/** The abilities of networks, by the words of the API, and how a driver declares its own. */
import { OPERATIONS, type Operation } from '@posthorn/contract/message-types.ts';
import type { NetworkActions } from './actions.ts';

export type Ability = Operation | keyof NetworkActions | 'pairing_code';

/**
 * People that a network can reach. `unprompted`: also people who have not written within the last 24 hours. `user_ids`:
 * people who are known only by ids that tell no number.
 */
export type Reach = 'unprompted' | 'user_ids';
const REACHES: readonly Reach[] = ['unprompted', 'user_ids'];
/** The reach of a network whose driver declares none. */
const USUAL_REACH: readonly Reach[] = ['unprompted'];

/** Every question of {@link NetworkActions}. */
export const ACTIONS = {
  pin: true,
  poll_vote: true,
  star: true,
  status_privacy: true,
  label_edit: true,
  label_chat: true,
  label_message: true,
  chat_read: true,
  chat_archive: true,
  chat_pin: true,
  chat_mute: true,
  contacts_check: true,
  contact_block: true,
  lid_phone: true,
  groups_list: true,
  group_info: true,
  group_create: true,
  group_update: true,
  group_participants: true,
  group_invite: true,
  group_revoke_invite: true,
  group_join: true,
  group_leave: true,
  presence_set: true,
  presence_subscribe: true,
  profile: true,
  profile_update: true,
  business_profile: true,
  business_catalog: true,
  business_collections: true,
  template_list: true,
  template_create: true,
  template_delete: true,
  reject_call: true,
} as const satisfies Record<keyof NetworkActions, true>;

/** Everything that a network may be asked for. */
export const ABILITIES: readonly Ability[] = [...OPERATIONS, ...keysOf(ACTIONS), 'pairing_code'];

/** A driver's table of send operations: one entry for each that it does not declare lacking. */
export type Composers<Compose, Lacks = never> = { readonly [Op in Exclude<Operation, Lacks>]: Compose };

/**
 * The abilities of a driver: the keys of its tables. An operation or question that is neither in its table nor in
 * `lacks` does not compile, and neither does one that is in both.
 */
export function abilitiesOf<const Lacks extends Operation | keyof NetworkActions = never>(driver: {
  /** How it sends each operation. */
  sends: Composers<unknown, Lacks> & { readonly [Op in Extract<Operation, Lacks>]?: never };
  /** How it answers each question. */
  answers: { readonly [Op in Exclude<keyof NetworkActions, Lacks>]: unknown } & {
    readonly [Op in Extract<keyof NetworkActions, Lacks>]?: never;
  };
  /** Asking for these is answered with 501. */
  lacks: readonly Lacks[];
  /** Whether an account may be paired by a code that the user types. */
  pairsByCode: boolean;
}): ReadonlySet<Ability> {
  const { sends, answers, pairsByCode } = driver;
  return new Set<Ability>([
    ...(keysOf(sends) as Ability[]),
    ...(keysOf(answers) as Ability[]),
    ...(pairsByCode ? (['pairing_code'] as const) : []),
  ]);
}

/** The abilities that a driver lacks, and the people that it does not reach. */
export function lacksOf(driver: {
  can: ReadonlySet<Ability>;
  reach?: readonly Reach[];
}): (Ability | Reach)[] {
  const { can, reach = USUAL_REACH } = driver;
  return [
    ...ABILITIES.filter((ability) => !can.has(ability)),
    ...REACHES.filter((each) => !reach.includes(each)),
  ];
}

function keysOf<T extends object>(table: T): (keyof T)[] {
  return Object.keys(table) as (keyof T)[];
}
