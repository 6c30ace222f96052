import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { promisify } from 'node:util';
import { type PostgresServer, startPostgres } from '@posthorn/test/support/postgres.ts';
import { ensurePostgresTools } from '@posthorn/test/support/postgres-tools.ts';
import { projectRoot } from '@posthorn/test/support/process.ts';

export interface OwnDatabase {
  /** For the user `posthorn`, who is no superuser. */
  url: string;
  server: PostgresServer;
  /** For programs that connect as the superuser, as those in the container of compose.yaml do. */
  superuserEnv: Record<string, string>;
}

/** A PostgreSQL of its own that has run the scripts of compose.yaml for the first start of its image. */
export async function startOwnDatabase(): Promise<OwnDatabase> {
  const tools = ensurePostgresTools();
  const server = await startPostgres({ binaries: tools });
  const { hostname, port, username, password, host } = new URL(server.url);
  const superuserEnv = {
    PATH: `${path.join(tools, 'bin')}:${process.env.PATH}`,
    PGHOST: hostname,
    PGPORT: port,
    PGPASSWORD: password,
  };
  const ownPassword = randomBytes(32).toString('hex');
  await promisify(execFile)(path.join(projectRoot, 'deploy/postgres/create-role.sh'), {
    env: { ...superuserEnv, POSTGRES_USER: username, POSTHORN_PASSWORD: ownPassword },
  });
  return { url: `postgres://posthorn:${ownPassword}@${host}/posthorn`, server, superuserEnv };
}
