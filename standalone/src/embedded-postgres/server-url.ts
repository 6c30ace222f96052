import { SUPERUSER } from './init-cluster.ts';

/** The database of ours on the embedded server. */
export const DATABASE = 'posthorn';

export function serverUrl(port: number, password: string, database = DATABASE): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
}
