import pg from 'pg';

/** Refuses new connections to the test's database and ends the open ones, until `end`. */
export async function startOutage(server: { url: string }): Promise<{ end(): Promise<void> }> {
  const url = new URL(server.url);
  const database = url.pathname.slice(1);
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(`ALTER DATABASE "${database}" ALLOW_CONNECTIONS false`);
  await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [database]);
  return {
    async end() {
      await client.query(`ALTER DATABASE "${database}" ALLOW_CONNECTIONS true`);
      await client.end();
    },
  };
}
