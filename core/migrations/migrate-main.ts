import { loadDatabaseUrl } from '../platform/config.ts';
import { runMain, StartError } from '../platform/run-main.ts';
import { BILLING_ROLE } from './billing-role.ts';
import { migrate, prepareCluster } from './migrate.ts';

/**
 * Brings the database to the newest schema: `npm run migrate`. With `--role` it only makes the role that a
 * dump grants to, for a restore into another cluster, and leaves the database as it is.
 */
await runMain('migrate', async () => {
  const args = process.argv.slice(2);
  const unknown = args.find((arg) => arg !== '--role');
  if (unknown !== undefined) throw new StartError(`${unknown} is no option: there is only --role`);
  const url = loadDatabaseUrl(process.env);
  if (args.length === 0) {
    await migrate(url);
    console.log('the database is at the newest schema');
  } else if (await prepareCluster(url)) console.log(`the role ${BILLING_ROLE} is there`);
  else
    throw new StartError(
      `this user may make no roles: let one that may run CREATE ROLE ${BILLING_ROLE} NOLOGIN, or restore with --no-acl`,
    );
});
