import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { DEFAULT_SETTINGS } from '@posthorn/core/instances/settings.ts';
import {
  type NetworkSession,
  NotConnected,
  SendRefused,
  SendUnavailable,
} from '@posthorn/core/network/driver.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { LocalFailure } from '@posthorn/worker/sessions/bounded-tries.ts';
import type { SanitizedMessage } from '@posthorn/worker/sessions/sanitize.ts';
import { createInboundStorer } from '@posthorn/worker/sessions/store-inbound.ts';

const CHAT = '5511999990000@s.whatsapp.net';

function picture(networkId: string, chat = CHAT): SanitizedMessage {
  const media = { ref: 'x', mimeType: 'image/png', fileName: '', sizeBytes: 1 };
  return { networkId, chat, from: chat, pushName: '', type: 'image', content: {}, media, at: new Date() };
}

describe('media of a received message', () => {
  /** The error of a download; null when it succeeds. */
  let failure: Error | null;
  let store: ReturnType<typeof createInboundStorer>;
  beforeEach(() => {
    failure = null;
    const inboundMedia = {
      async store() {
        if (failure) throw failure;
        return { mediaId: 'stored', mimeType: 'image/png', animated: false };
      },
    };
    store = createInboundStorer(
      { inboundMedia, log: createLog({ level: 'silent', role: 'test' }) },
      {
        ...{ companyId: 1, instanceId: 'x', settings: () => DEFAULT_SETTINGS },
        session: () => ({}) as NetworkSession,
      },
    );
  });

  test('is waited for while the network cannot be reached, each for ten seconds, and then the message comes without it', async (t) => {
    let nowMs = 1_000;
    t.mock.method(performance, 'now', () => nowMs);
    failure = new SendUnavailable();
    await assert.rejects(store(picture('A'), 'whole'), LocalFailure);
    nowMs += 8_000;
    await assert.rejects(store(picture('A'), 'whole'), LocalFailure);
    await assert.rejects(store(picture('B'), 'whole'), LocalFailure);
    nowMs += 4_000;
    assert.equal((await store(picture('A'), 'whole')).incomplete, 'media_unavailable');
    await assert.rejects(store(picture('B'), 'whole'), LocalFailure);
    failure = null;
    assert.equal((await store(picture('B'), 'whole')).mediaId, 'stored');
  });

  test('is waited for as long as the session is not connected, and then for ten seconds more', async (t) => {
    let nowMs = 1_000;
    t.mock.method(performance, 'now', () => nowMs);
    for (failure of [new NotConnected(), new SendUnavailable(), new NotConnected(), new SendUnavailable()]) {
      await assert.rejects(store(picture('A'), 'whole'), LocalFailure);
      nowMs += 60_000;
    }
    assert.equal((await store(picture('A'), 'whole')).incomplete, 'media_unavailable');
  });

  test('is tried as often as any item when it belongs to a status, because later items are of other chats', async () => {
    failure = new SendUnavailable();
    await assert.rejects(store(picture('A', 'status@broadcast'), 'whole'), SendUnavailable);
  });

  test('is not waited for when the network refuses it', async () => {
    failure = new SendRefused('media_expired');
    assert.equal((await store(picture('A'), 'whole')).incomplete, 'media_expired');
  });
});
