import { execFile, execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs, promisify } from 'node:util';
import { createFailures, type Failures } from './failures.ts';
import { ensureFfmpeg, quickenFfmpeg } from './ffmpeg-install.ts';
import { createFileTimes, type FileTimes } from './file-times.ts';
import { projectRoot } from './process.ts';
import { ensureRabbitSource } from './rabbitmq-install.ts';
import { reap } from './reaper.ts';
import { offerServers } from './shared-servers.ts';
import { ensureWhatsAppLibrary } from './whatsapp/library-install.ts';
import { writeGroups } from './write-groups.ts';

/**
 * `npm test [-- files...]`: runs the test files, with one PostgreSQL and one RabbitMQ for all that ask for them, and stops
 * what was started. Files named `*.slow.test.ts` take long and rarely break: `--slow` runs those, a run without `--slow`
 * runs all others, and `--all` runs both at once. `--slow-part 2/3` takes the second third of the slow files and leaves the
 * rest to other runs. The other files of test/faults run in all three, larger with `--slow` or `--all`; `--faults-full` runs
 * the folder alone and whole. Files that are named run in any case. `--record` keeps the times of the files, by which the next runs begin with the
 * longest. `--limit 30` ends a test, or a hook of one, after so many seconds, and a file after three times as many.
 *
 * A skipped test, a todo or a run without tests counts as a failure: green means that all promises hold.
 */

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Loaded into every test process before its file. */
const PRELOADS = ['untracked-promises-main', 'answers/check-answers-main', 'end-late-main'].map(
  (name) => new URL(`./${name}.ts`, import.meta.url).href,
);
/**
 * For a test that hangs, and for a group of files: the longest take two and three minutes, and several times that on a
 * machine with other things to do.
 */
const TEST_LIMIT_S = 300;
/** Fault tests in their larger form take three times as long. */
const LARGER_TEST_LIMIT_S = 900;
/** A thousand kills of WhatsApp sessions take more than an hour. */
const FULL_TEST_LIMIT_S = 9_000;
/** A file whose tests all hang ends after so many of them, and in the larger form while the rest of the run still takes as long. */
const TESTS_A_FILE = 3;
const LARGER_FILE_LIMIT_S = 1_500;
/**
 * So many of the files that are neither heavy nor alone share a core, because tests wait as well as compute. With 2.5,
 * each took more than twice as long, and promises with a deadline were not kept; slow ones start more processes.
 */
const FILES_A_CORE = { quick: 2, slow: 1.5 };

const { values, positionals } = parseArgs({
  options: {
    'faults-full': { type: 'boolean', default: false },
    slow: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    'slow-part': { type: 'string', default: '1/1' },
    record: { type: 'boolean', default: false },
    limit: { type: 'string' },
  },
  allowPositionals: true,
});
const full = values['faults-full'];
const [slowPart = 1, slowParts = 1] = values['slow-part'].split('/').map(Number);
const isFull = full || process.env.POSTHORN_FULL === '1';
const isLarger = values.slow || values.all;
const testLimitS = Number(
  values.limit ?? (isFull ? FULL_TEST_LIMIT_S : isLarger ? LARGER_TEST_LIMIT_S : TEST_LIMIT_S),
);
const fileLimitS = isLarger && !isFull && !values.limit ? LARGER_FILE_LIMIT_S : testLimitS * TESTS_A_FILE;
const testLimitMs = testLimitS * 1_000;
const givenBroker = process.env.AMQP_URL;
// Addresses of real services in the caller's shell must not reach the programs under test.
for (const name of ['AMQP_URL', 'DATABASE_URL']) delete process.env[name];
// Hundreds of processes load the same sources: with compiled code each starts in a third of the CPU.
process.env.NODE_COMPILE_CACHE ??= path.join(projectRoot, 'node_modules/.cache/compiled');
process.exitCode = await main();

async function main(): Promise<number> {
  if (![slowPart, slowParts].every(Number.isInteger) || slowPart < 1 || slowPart > slowParts) {
    console.error('--slow-part is of the form 2/3');
    return 1;
  }
  const files = chooseFiles();
  if (files.length === 0) {
    console.error('no test file matches');
    return 1;
  }
  const folder = folderOfRun();
  process.env.POSTHORN_TEST_LATE_MS = String(testLimitMs / 2);
  process.env.POSTHORN_TEST_FILE_MS = String(fileLimitS * 1_000);
  process.env.POSTHORN_TEST_PORTS = path.join(folder, 'ports');
  mkdirSync(process.env.POSTHORN_TEST_PORTS);
  const servers = await offerServers(path.join(folder, 'shared'), {
    broker: givenBroker,
    files: files.length,
  });
  // A shell ends the test files as well; a signal to this process alone would leave them running.
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      ending.abort();
      void servers.stop().finally(() => process.exit(130));
    });
  }
  try {
    // An installation that ran no scripts has no API reference yet.
    execFileSync(process.execPath, ['server/http/build-reference.mjs'], { cwd: projectRoot });
    await Promise.all([buildConsole(files), install(files, folder)]);
    const alone = files.filter((file) => isOfKind(file, 'serial'));
    const heavy = files.filter((file) => isOfKind(file, 'heavy'));
    const together = files.filter((file) => !alone.includes(file) && !heavy.includes(file));
    if (full) process.env.POSTHORN_FAULTS = 'whole';
    else if (isLarger) process.env.POSTHORN_FAULTS = 'larger';
    const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
    const times = createFileTimes();
    const failures = createFailures();
    const { signal } = ending;
    const concurrency = concurrencyOf(files);
    const since = performance.now();
    const isWhole = positionals.length === 0 && !full;
    const groups = isWhole ? writeGroups(together.filter(mayShare), { folder, times }) : [];
    const grouped = new Set(groups.flatMap(({ files }) => files));
    const others = together.filter((file) => !grouped.has(file));
    const order = alternate(
      times.longestFirst(others),
      groups.map(({ file }) => file),
    );
    await runFiles(order, { atOnce: concurrency, signal, times, failures }, counts);
    const togetherTook = secondsSince(since);
    servers.alone();
    const sinceHeavy = performance.now();
    await runFiles(
      times.longestFirst(heavy),
      { atOnce: Math.min(heavyAtOnce(), concurrency), signal, times, failures },
      counts,
    );
    const heavyTook = secondsSince(sinceHeavy);
    const sinceAlone = performance.now();
    await runFiles(alone, { atOnce: 1, signal, times, failures }, counts);
    if (files.length > 1)
      console.log(
        `${together.length} files side by side took ${togetherTook}, ${heavy.length} heavy ones ${heavyTook}, ${alone.length} alone ${secondsSince(sinceAlone)}`,
      );
    if (files.length > 1) console.log(`the slowest files:\n${times.slowest().join('\n')}`);
    if (values.record) times.record();
    if (failures.list().length > 0) console.log(`what failed:\n${failures.list().join('\n')}`);
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    return counts.passed > 0 && counts.failed === 0 && counts.skipped === 0 ? 0 : 1;
  } catch (err) {
    console.error(err instanceof Error ? err.message : err);
    return 1;
  } finally {
    await servers.stop();
  }
}

/** Absolute paths, in a fixed order. Folders and globs are fine as arguments. */
function chooseFiles(): string[] {
  const patterns = positionals.length > 0 ? positionals : [full ? 'test/faults/**' : 'test/**'];
  const files = patterns.flatMap((pattern) =>
    globSync(pattern.endsWith('.ts') ? pattern : [pattern, `${pattern}/**`], { cwd: projectRoot }),
  );
  const takesAll = full || values.all || positionals.length > 0;
  const tests = files.filter(
    (file) =>
      file.endsWith('.test.ts') &&
      !file.includes('node_modules') &&
      (takesAll ||
        file.endsWith('.slow.test.ts') === values.slow ||
        (values.slow && file.startsWith('test/faults/'))),
  );
  return partOf([...new Set(tests)].sort()).map((file) => path.resolve(projectRoot, file));
}

/** Without the slow files that `--slow-part` leaves to other runs. The parts take about the same time. */
function partOf(files: readonly string[]): string[] {
  if (positionals.length > 0 || slowParts === 1) return [...files];
  const times = createFileTimes();
  const parts = Array.from({ length: slowParts }, () => ({ files: [] as string[], seconds: 0 }));
  const slow = times.longestFirst(files.filter((file) => file.endsWith('.slow.test.ts')));
  const takes = (file: string) =>
    times.secondsOf(file) /
    (isOfKind(file, 'serial') ? 1 : isOfKind(file, 'heavy') ? 2 : 2 * FILES_A_CORE.slow);
  for (const file of slow.toSorted((one, other) => takes(other) - takes(one))) {
    const least = parts.reduce((one, other) => (other.seconds < one.seconds ? other : one));
    least.files.push(file);
    least.seconds += takes(file);
  }
  const left = new Set(parts.flatMap((part, nth) => (nth === slowPart - 1 ? [] : part.files)));
  if (left.size > 0) console.log(`left to other runs by --slow-part: ${[...left].sort().join(', ')}`);
  return files.filter((file) => !left.has(file));
}

/**
 * `serial` runs alone: a test of it depends on memory or a time, or builds into a folder of the project. `heavy` has one
 * or two others beside it: it starts a dozen processes, builds something large, probes the answers to others, or tells a
 * figure that only a whole run (`POSTHORN_FULL=1`) asserts.
 */
function isOfKind(file: string, kind: 'serial' | 'heavy'): boolean {
  return new RegExp(`\\.${kind}\\.(slow\\.)?test\\.ts$`).test(file);
}

/** A shared AMQP_URL has one set of queues, and a fault test in full size takes the whole machine. */
function concurrencyOf(files: readonly string[]): number {
  const kind = files.some((file) => file.endsWith('.slow.test.ts')) ? 'slow' : 'quick';
  return givenBroker || full ? 1 : Math.ceil(availableParallelism() * FILES_A_CORE[kind]);
}

/**
 * One where figures are asserted. The slow ones start a dozen processes each; the others spend more than half of their
 * time waiting.
 */
function heavyAtOnce(): number {
  if (isFull) return 1;
  return isLarger ? 2 : 3;
}

/**
 * Tests of msgctl start processes of their own: sharing one saves nothing, and the group cannot load them. Neither do the slow ones
 * that start systems of processes, images or test runs.
 */
function mayShare(file: string): boolean {
  const [, room = ''] = path.relative(projectRoot, file).split(path.sep);
  return (
    room !== 'cli' && !(file.endsWith('.slow.test.ts') && ['deploy', 'faults', 'harness'].includes(room))
  );
}

/** The longest files start many processes each: beside quick ones they get the processor time that they need. */
function alternate(long: readonly string[], quick: readonly string[]): string[] {
  return Array.from({ length: Math.max(long.length, quick.length) }, (_, nth) => [
    ...long.slice(nth, nth + 1),
    ...quick.slice(nth, nth + 1),
  ]).flat();
}

/** The folder where test files claim their ports and ask for shared servers; removed when this process ends. */
function folderOfRun(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-run-'));
  reap({ dir });
  return dir;
}

function secondsSince(since: number): string {
  return `${((performance.now() - since) / 1_000).toFixed(1)} s`;
}

/** Runs files each in its own process, with Node's own report on stdout, and adds up their results. */
async function runFiles(
  files: string[],
  {
    atOnce,
    signal,
    times,
    failures,
  }: { atOnce: number; signal: AbortSignal; times: FileTimes; failures: Failures },
  counts: Counts,
): Promise<void> {
  if (files.length === 0) return;
  const stream = run({
    files,
    concurrency: atOnce,
    signal,
    timeout: testLimitMs,
    cwd: projectRoot,
    execArgv: PRELOADS.flatMap((module) => ['--import', module]),
  });
  stream.on('test:complete', ({ name, file, nesting, details }) => {
    // Each file is reported as a test of its own, named by its path, and each file of a group as a suite.
    const isOwn = name === file && name.startsWith(projectRoot);
    if (nesting === 0 && (isOwn || name.startsWith('test/'))) times.note(name, details.duration_ms);
  });
  stream.on('test:fail', failures.note);
  stream.on('test:summary', (summary) => {
    // One comes for each file, and one without a file for them all.
    if (summary.file) return;
    const { tests, passed, skipped, todo } = summary.counts;
    const failed = tests - passed - skipped - todo;
    counts.passed += passed;
    counts.skipped += skipped + todo;
    // A hook that fails after its tests have passed is no test, but it is no success either.
    counts.failed += failed === 0 && !summary.success ? 1 : failed;
  });
  for await (const chunk of stream.compose(spec)) process.stdout.write(chunk);
}

/** Installs what the files need, before they run: only one package can be installed at a time. */
async function install(files: readonly string[], folder: string): Promise<void> {
  quickenFfmpeg(await ensureFfmpeg(), path.join(folder, 'bin'));
  if (files.length > 1 && !givenBroker) ensureRabbitSource();
  if (files.some((file) => path.relative(projectRoot, file).includes('whatsapp')))
    await ensureWhatsAppLibrary();
}

/**
 * The console's own tests judge its sources as they are now; for other tests an installation that ran no scripts needs
 * any build.
 */
async function buildConsole(files: readonly string[]): Promise<void> {
  const isBuilt = existsSync(path.join(projectRoot, 'server/dist/console'));
  const isTested = files.some((file) => path.relative(projectRoot, file).startsWith('test/console'));
  if (isTested || !isBuilt)
    await promisify(execFile)(process.execPath, ['console/build.mjs'], { cwd: projectRoot });
}
