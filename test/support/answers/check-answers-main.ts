/**
 * Loaded first into every test process by run-tests.ts: checks what our servers answer to the test, and to the programs
 * that it starts with `watchedEnv()`, against the committed OpenAPI documents. The process of a test ends with 1 when an
 * answer is not what its document says, whatever its tests said.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { watchConnections } from './watch-connections.ts';
import { type SeenAnswer, watchFetch } from './watch-fetch.ts';

/** Enough to see what is wrong. */
const TOLD_MAX = 20;
/** A test under load makes very many of few kinds. */
const OTHERS_MAX = 10_000;

type Documents = typeof import('./faults-of-answer.ts');

// Threads of a test measure or compute.
if (isMainThread) checkAnswers();

function checkAnswers(): void {
  const told = path.join(tmpdir(), `posthorn-answers-${process.pid}-${Date.now()}.jsonl`);
  process.env.POSTHORN_TEST_ANSWERS = told;
  const faults = new Set<string>();
  // The documents are large, and most tests of rules never ask for an answer: they are read when one is there.
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
  // Others see no bodies. They are looked at in the end, so that no test that counts time pays for it.
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
