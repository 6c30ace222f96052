import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { askUntilServed } from '../support/ask-until-served.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { cookiesOf } from './support/api-client.ts';
import { newOwner } from './support/people.ts';

const AT_ONCE = 50;

/** Registers the test that refreshes one login `rounds` times, each time with many requests at once. */
export function testRefreshRaces(rounds: number): void {
  describe('refreshes that race', () => {
    let server: AccountServer;
    before(async () => {
      server = await startAccountServer();
    });
    after(() => server.close());

    test(`${AT_ONCE} at once, ${rounds} times over: nobody is logged out and one lineage survives`, async () => {
      let { cookies, companyId } = await newOwner(server);
      for (let round = 0; round < rounds; round++) {
        const answers = await Promise.all(
          Array.from({ length: AT_ONCE }, () =>
            askUntilServed(() =>
              server.api('POST', '/v1/auth/refresh', { cookies, csrf: cookies.svc_csrf_token! }),
            ),
          ),
        );
        assert.ok(
          answers.every((answer) => answer.status === 200),
          `round ${round}: ${answers.find((answer) => answer.status !== 200)?.text}`,
        );
        const successors = new Set(answers.map((answer) => cookiesOf(answer).svc_refresh_token));
        assert.equal(successors.size, 1, `round ${round}`);
        cookies = cookiesOf(answers[0]!);
      }
      const { rows } = await server.db.query<{ live: number; used: number; revoked: number }>(
        `SELECT count(*) FILTER (WHERE t.rotated_at IS NULL) AS live, count(t.rotated_at) AS used,
                count(*) FILTER (WHERE f.revoked_at IS NOT NULL) AS revoked
         FROM refresh_tokens t JOIN refresh_families f ON f.id = t.family_id
         WHERE t.company_id = $1 AND t.family_id = (
           SELECT family_id FROM refresh_tokens WHERE company_id = $1 GROUP BY family_id ORDER BY count(*) DESC LIMIT 1)`,
        [companyId],
      );
      assert.deepEqual({ ...rows[0] }, { live: 1, used: rounds, revoked: 0 });
      const audit = await server.db.query(`SELECT 1 FROM audit_log WHERE action = 'session.reuse_detected'`);
      assert.equal(audit.rows.length, 0);
    });
  });
}
