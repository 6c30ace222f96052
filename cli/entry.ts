/** The entry point of the packed msgctl. It prints the version without loading anything else. */
import { VERSION } from './version.ts';

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) process.stdout.write(`${VERSION}\n`);
else {
  const { main } = await import('./main.ts');
  await main(argv);
}
