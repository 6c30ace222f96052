import { migrate } from './migrate.ts';
import { runMain, StartError } from './run-main.ts';

/** Brings the database to the newest schema: `npm run migrate`. */
await runMain('migrate', async () => {
  const url = process.env.DATABASE_URL;
  if (!url) throw new StartError('DATABASE_URL is required');
  await migrate(url);
  console.log('the database is at the newest schema');
});
