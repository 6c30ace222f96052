/** The profile and products that a business shows: plain data, as the port answers it. */
import type { BusinessProfile, Product } from '@posthorn/core/network/actions.ts';

export interface Storefront {
  profile: Omit<BusinessProfile, 'jid'>;
  products: Product[];
  collections: { id: string; name: string; status: string; product_ids: string[] }[];
}
