/**
 * Forgets names that have passed on: somebody who takes another number keeps their anonymous id, and the network gives the
 * number to somebody else. The library would keep that it leads to the first of them, who got what is for the second.
 */
import { isLidJid, isUserJid } from '@posthorn/contract/jid.ts';
import type { SignalRepository, TransactionalKeyStore } from './library-types.ts';
import { userOf, withoutDevice } from './wire/jids.ts';

/** The library's rows: the id of a number, and under the id with {@link REVERSE} its number. */
const KIND = 'lid-mapping';
const REVERSE = '_reverse';

/**
 * Makes the library forget them when it learns other ones. Called once for a repository of the account `me`. When another device of
 * the account has sent a message, the library takes the account's number for that of the recipient: such pairs are not learnt, or
 * notes to oneself would go to others.
 */
export function forgetFormerNames(
  lidMapping: SignalRepository['lidMapping'],
  keys: TransactionalKeyStore,
  me: () => { id: string; lid: string },
): void {
  const { mappingCache } = lidMapping;
  const learn = lidMapping.storeLIDPNMappings.bind(lidMapping);
  lidMapping.storeLIDPNMappings = async (told) => {
    const own = me();
    const pairs = told.filter(({ lid, pn }) => isSame(lid, own.lid) === isSame(pn, own.id));
    const news = pairs
      .map(({ lid, pn }) => ({ lid: withoutDevice(lid), pn: withoutDevice(pn) }))
      // The library drops those of two ids later, which its questions about ids give.
      .filter(({ lid, pn }) => isLidJid(lid) && isUserJid(pn))
      .map(({ lid, pn }) => ({ id: userOf(lid), number: userOf(pn) }))
      .filter(({ id, number }) => mappingCache.get(`lid:${id}`) !== number);
    if (news.length > 0) await forgetFormer(news);
    await learn(pairs);
  };

  async function forgetFormer(news: readonly { id: string; number: string }[]): Promise<void> {
    const names = news.flatMap(({ id, number }) => [number, id + REVERSE]);
    const known = await keys.get(KIND, names);
    const gone: Record<string, null> = {};
    for (const { id, number } of news) {
      const formerId = known[number];
      const formerNumber = known[id + REVERSE];
      if (typeof formerId === 'string' && formerId !== id) {
        gone[formerId + REVERSE] = null;
        mappingCache.forget(number);
      }
      if (typeof formerNumber === 'string' && formerNumber !== number) {
        gone[formerNumber] = null;
        mappingCache.forget(id);
      }
    }
    if (Object.keys(gone).length > 0) await keys.transaction(() => keys.set({ [KIND]: gone }), KIND);
  }
}

function isSame(one: string, other: string): boolean {
  return withoutDevice(one) === withoutDevice(other);
}
