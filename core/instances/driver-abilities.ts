import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { isGroupJid, isUserIdJid, type Jid } from '@posthorn/contract/jid.ts';
import type { Ability, Reach } from '../network/abilities.ts';
import type { Sql } from '../platform/database/db.ts';

/** Writes down what a network cannot do. A worker does this before it takes anything for that network. */
export async function tellAbilities(
  sql: Sql,
  driver: { name: string; lacks: readonly (Ability | Reach)[] },
): Promise<void> {
  await sql.query(
    `INSERT INTO network_drivers (name, lacks) VALUES ($1, $2)
     ON CONFLICT (name) DO UPDATE SET lacks = excluded.lacks WHERE network_drivers.lacks <> excluded.lacks`,
    [driver.name, driver.lacks],
  );
}

/** SQL of what the network of the instance row `instance` lacks; null where no worker has told. */
export function lacksSql(instance: string): string {
  return `(SELECT d.lacks FROM network_drivers d WHERE d.name = ${instance}.driver)`;
}

/** 501 NOT_IMPLEMENTED if the network lacks the ability, else undefined. */
export function abilityRefusal(
  lacks: readonly string[] | null | undefined,
  ability: Ability | Reach,
): ApiError | undefined {
  return lacks?.includes(ability) ? apiError('NOT_IMPLEMENTED') : undefined;
}

/** The same for an address: a network may lack groups, or people without numbers. */
export function addressRefusal(lacks: readonly string[] | null, chatJid: Jid): ApiError | undefined {
  if (isGroupJid(chatJid)) return abilityRefusal(lacks, 'group_info');
  return isUserIdJid(chatJid) ? abilityRefusal(lacks, 'user_ids') : undefined;
}

/** Throws 501 NOT_IMPLEMENTED when the network `driver` lacks `ability`. */
export async function requireAbility(sql: Sql, driver: string, ability: Ability): Promise<void> {
  const { rows } = await sql.query<{ lacks: string[] }>('SELECT lacks FROM network_drivers WHERE name = $1', [
    driver,
  ]);
  const refusal = abilityRefusal(rows[0]?.lacks, ability);
  if (refusal) throw refusal;
}
