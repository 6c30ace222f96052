import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import type { System } from '../support/system.ts';
import { startReceiver } from '../webhooks/support.ts';

/** The webhooks that an endpoint, which always answers 200, has received so far. */
export interface ReceivedWebhooks {
  /** Ids of events. */
  delivered: Set<string>;
  attempts(): number;
}

/** Adds a webhook of a company at an endpoint that lives until the test ends. */
export async function receiveWebhooks(
  t: TestContext,
  system: System,
  companyId: number,
  pattern: string,
): Promise<ReceivedWebhooks> {
  const delivered = new Set<string>();
  let attempts = 0;
  const receiver = await startReceiver(
    (request, response) => {
      attempts += 1;
      delivered.add(String(request.headers['webhook-id']));
      response.end();
    },
    { keep: false },
  );
  t.after(() => receiver.close());
  await addWebhook(system, companyId, receiver.url, pattern);
  return { delivered, attempts: () => attempts };
}

export async function addWebhook(
  system: System,
  companyId: number,
  url: string,
  pattern: string,
): Promise<void> {
  const secret = createCipher(system.env.ENCRYPTION_KEY!).seal(`whsec_${randomBytes(24).toString('base64')}`);
  await system.db.query(
    `INSERT INTO webhooks (company_id, url, patterns, enabled, secret) VALUES ($1, $2, ARRAY[$4], true, $3)`,
    [companyId, url, secret, pattern],
  );
}
