import type { Person } from '../lids/read-phones.ts';
import type { Sql } from '../platform/database/db.ts';

/**
 * The name of a chat or of a person, of a row of `contacts` as `person`, of `chat_groups` as `circle` and of `chats`, where
 * there are any: as the phone saved it, else as the group or the other side calls itself; empty when neither is known.
 */
export function nameSql(chat: string): string {
  return `coalesce(nullif(person.name, ''), nullif(${chat}.name, ''), nullif(circle.name, ''), person.push_name, '')`;
}

/**
 * The names of these chats and people, as {@link nameSql} chooses them. Each is looked up by its keys: joined, a table
 * of some thousand rows would be read whole for a page of fifty.
 */
export async function readNames(sql: Sql, people: readonly Person[]): Promise<(person: Person) => string> {
  const asked = new Map(people.map((person) => [keyOf(person), person]));
  if (asked.size === 0) return () => '';
  const found = await sql.query<{ instanceId: string; jid: string; name: string }>({
    name: 'chats-read-names',
    text: `SELECT w."instanceId", w.jid, ${nameSql('chat')} AS name
           FROM json_to_recordset($1) AS w ("instanceId" uuid, jid text)
           LEFT JOIN LATERAL (SELECT name, push_name FROM contacts
             WHERE instance_id = w."instanceId" AND jid = w.jid LIMIT 1) person ON true
           LEFT JOIN LATERAL (SELECT name FROM chats
             WHERE instance_id = w."instanceId" AND chat_jid = w.jid LIMIT 1) chat ON true
           LEFT JOIN LATERAL (SELECT name FROM chat_groups
             WHERE instance_id = w."instanceId" AND jid = w.jid LIMIT 1) circle ON true`,
    values: [JSON.stringify([...asked.values()])],
  });
  const names = new Map(found.rows.map((row) => [keyOf(row), row.name]));
  return (person) => names.get(keyOf(person)) ?? '';
}

function keyOf({ instanceId, jid }: Person): string {
  return `${instanceId} ${jid}`;
}
