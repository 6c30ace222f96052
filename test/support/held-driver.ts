import type { NetworkDriver } from '@posthorn/core/network/driver.ts';

/** A driver whose answers a test holds back. */
export interface HeldDriver {
  /** Around the real one, which is not changed. */
  around(driver: NetworkDriver): NetworkDriver;
  /**
   * From now on the messages of this instance reach the network, but their answers are held until `release` is called.
   * `asked` lists the types of what reaches it, also afterwards.
   */
  hold(instanceId: string): { release(): void; asked: readonly string[] };
  /** To be called at the end, also of a test that failed half way. */
  releaseAll(): void;
}

/**
 * Holds the answers of the network for as long as a test needs: with fixed times, a busy machine would miss the moment
 * and a free one would wait for nothing.
 */
export function createHeldDriver(): HeldDriver {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const asked = new Map<string, string[]>();
  return {
    around: (driver) => ({
      ...driver,
      async open(request, sink) {
        const session = await driver.open(request, sink);
        return {
          ...session,
          async send(message) {
            const gate = gates.get(request.instanceId);
            asked.get(request.instanceId)?.push(message.type);
            const answer = await session.send(message);
            await gate?.promise;
            return answer;
          },
        };
      },
    }),
    hold(instanceId) {
      const gate = Promise.withResolvers<void>();
      gates.set(instanceId, gate);
      asked.set(instanceId, []);
      return {
        asked: asked.get(instanceId)!,
        release() {
          if (gates.get(instanceId) === gate) gates.delete(instanceId);
          gate.resolve();
        },
      };
    },
    releaseAll() {
      for (const gate of gates.values()) gate.resolve();
      gates.clear();
    },
  };
}
