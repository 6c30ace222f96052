import type { Product } from '@posthorn/sdk/index.ts';
import { useClient } from '../../api/api-context.ts';
import { useFeed } from '../../api/use-feed.ts';

const PAGE = 30;

/** The products of a business, in its own order; without `jid` those of the instance's account. */
export function useCatalog(instanceId: string, jid: string | undefined) {
  const client = useClient();
  return useFeed<Product, string>({
    queryKey: ['catalog', instanceId, jid],
    idOf: ({ id }) => id,
    read: async (cursor, signal) => {
      const query = { limit: PAGE, ...(jid && { jid }), ...(cursor && { cursor }) };
      const page = await client.business.catalog({ instanceId, query }, { ...(signal && { signal }) });
      return { rows: page.products, next: page.next_page_cursor };
    },
  });
}
