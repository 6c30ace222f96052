import { RAW_BODY_MAX_BYTES } from '@posthorn/contract/limits.ts';
import type { cloud } from '@posthorn/contract/messaging/cloud.ts';
import { answerHandshake } from '@posthorn/core/cloud/answer-handshake.ts';
import { createInboxRoom } from '@posthorn/core/cloud/inbox-room.ts';
import { takeWebhook } from '@posthorn/core/cloud/take-webhook.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Handlers } from '../http/handler.ts';
import { readBytes } from '../http/read-json.ts';

export interface CloudRoutesDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  cipher: Cipher;
  log: Log;
  metrics: Metrics;
}

/** Meta's handshake and its posts (docs/guides/official-number.md). */
export function cloudRoutes(deps: CloudRoutesDeps): Handlers<typeof cloud> {
  const room = createInboxRoom(deps);
  return {
    handshake: async ({ params, query }) => ({
      status: 200,
      body: await answerHandshake(deps, { ...params, query }),
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    }),
    take: async ({ params, headers, incoming }) => {
      await takeWebhook(
        { ...deps, room },
        {
          ...params,
          signature: headers['x-hub-signature-256'],
          read: () => readBytes(incoming, RAW_BODY_MAX_BYTES),
        },
      );
      return { status: 200, body: { received: true } };
    },
  };
}
