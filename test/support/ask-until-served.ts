import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Asks again, as a client should, while a busy machine answers 503 with Retry-After. Waits a tenth of that time, since
 * only the test itself keeps the server busy.
 */
export async function askUntilServed<Answer extends { status: number; headers: Headers; text: string }>(
  ask: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503) return answer;
    const retryAfterS = Number(answer.headers.get('retry-after'));
    assert.ok(retryAfterS > 0, answer.text);
    await delay(retryAfterS * 100);
  }
}
