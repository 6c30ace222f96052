import type { Product as ShownProduct } from '@posthorn/contract/messaging/business.ts';
import type { InstanceScope } from '../access/instance-scope.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { mediaUrl } from '../media/media-url.ts';
import type { NetworkImages } from '../media/network-images.ts';
import type { Product } from '../network/actions.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';

export interface BusinessDeps extends RpcDeps {
  images: NetworkImages;
  /** Without a slash at its end. */
  publicUrl: string;
}

export interface BusinessCaller {
  principal: Principal;
  instanceId: string;
  signal: AbortSignal;
}

/** The instance, and whose business is meant: an empty JID is the instance's own. 404 INSTANCE_NOT_FOUND. */
export async function businessOf(
  deps: RpcDeps,
  { principal, instanceId }: BusinessCaller,
  jid: string,
): Promise<{ scope: InstanceScope; jid: string }> {
  const scope = await requireInstance(deps.db, principal, instanceId);
  if (jid !== '') return { scope, jid };
  const own = await deps.db.query<{ jid: string | null }>('SELECT jid FROM instances WHERE id = $1', [
    scope.instanceId,
  ]);
  // One that was never paired is not connected either, which the question itself answers.
  return { scope, jid: own.rows[0]?.jid ?? '' };
}

/** Products with pictures at addresses of our own; without one where it could not be had. */
export async function withOwnImages(
  deps: BusinessDeps,
  scope: InstanceScope,
  lists: readonly (readonly Product[])[],
): Promise<ShownProduct[][]> {
  const kept = await deps.images.keep(
    scope,
    lists.flatMap((products) => products.map((product) => product.image_url)),
  );
  const urlOf = (image: string) => {
    const mediaId = kept.get(image);
    return mediaId === undefined ? '' : mediaUrl(deps.publicUrl, scope.instanceId, mediaId);
  };
  return lists.map((products) =>
    products.map((product) => ({ ...product, image_url: urlOf(product.image_url) })),
  );
}
