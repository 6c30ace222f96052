import { type Client, iterate } from '@posthorn/sdk/index.ts';
import { CommandError, EXIT, UsageError } from './fault.ts';

/** The id of the instance with this name. Throws CommandError when there is none, UsageError when there are several. */
export async function idOfName(client: Client, wanted: string): Promise<string> {
  const ids: string[] = [];
  for await (const { id, name } of iterate(client.instances.list, { query: { limit: 200 } }))
    if (name === wanted) ids.push(id);
  const [id] = ids;
  if (id === undefined)
    throw new CommandError(`there is no instance ${wanted}: msgctl instances list`, {
      exitCode: EXIT.missing,
    });
  if (ids.length > 1)
    throw new UsageError(`${ids.length} instances are called ${wanted}: name one by its id`);
  return id;
}

/** The id of the only instance. Throws UsageError when there is none, or more than one. */
export async function onlyInstance(client: Client): Promise<string> {
  const { data, total } = await client.instances.list({ query: { limit: 1 } });
  const [only] = data;
  if (!only) throw new UsageError('there is no instance yet: msgctl instances create <name>');
  if (total === 1) return only.id;
  throw new UsageError('which instance? --instance <id or name>, or msgctl instances use <id or name>');
}
