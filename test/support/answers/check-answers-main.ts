/**
 * Loaded first into every test process by run-tests.ts: checks the answers of our servers to the test, and to the
 * programs that it starts with `watchedEnv()`, against the committed OpenAPI documents. The process of a test ends with
 * 1 when an answer does not match its document, even if all its tests passed.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { watchConnections } from './watch-connections.ts';
import { type SeenAnswer, watchFetch } from './watch-fetch.ts';

/** Enough to show the fault. */
const TOLD_MAX = 20;
/** A test under load makes very many answers of few kinds. */
const OTHERS_MAX = 10_000;

type Documents = typeof import('./faults-of-answer.ts');

// Threads of a test only measure or compute, so they are not checked.
if (isMainThread) checkAnswers();

function checkAnswers(): void {
  const told = path.join(tmpdir(), `posthorn-answers-${process.pid}-${Date.now()}.jsonl`);
  process.env.POSTHORN_TEST_ANSWERS = told;
  const faults = new Set<string>();
  // The documents are large, and most tests of rules never get an answer: they are read with the first one.
  let documents: Documents | undefined;
  const read = () => {
    documents ??= createRequire(import.meta.url)('./faults-of-answer.ts') as Documents;
    return documents;
  };
  const check = (answer: SeenAnswer) => {
    const fault = read().faultsOfAnswer(answer);
    if (fault !== '') faults.add(`${answer.method} ${answer.path} -> ${answer.status}: ${fault}`);
  };
  watchFetch(async (answer) => {
    documents ??= await import('./faults-of-answer.ts');
    check(answer);
  });
  // Answers to other programs have no bodies here. They are checked at the end, so that no test that measures time pays
  // for it.
  const others = new Map<string, SeenAnswer>();
  watchConnections((answer) => {
    const key = `${answer.method} ${answer.path} ${answer.status} ${answer.type} ${answer.retryAfter}`;
    if (others.size < OTHERS_MAX) others.set(key, answer);
  });
  process.on('exit', () => {
    others.forEach(check);
    if (existsSync(told)) {
      for (const line of readFileSync(told, 'utf8').trim().split('\n')) check(JSON.parse(line));
      rmSync(told);
    }
    if (faults.size === 0) return;
    process.exitCode = 1;
    const shown = [...faults].slice(0, TOLD_MAX).join('\n');
    process.stderr.write(
      `${faults.size} answers in ${process.argv[1]} are not what the OpenAPI documents say:\n${shown}\n`,
    );
  });
}
