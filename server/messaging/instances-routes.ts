import type { instances } from '@posthorn/contract/messaging/instances.ts';
import { giveCredentials } from '@posthorn/core/cloud/give-credentials.ts';
import { changeSettings, readSettings } from '@posthorn/core/instances/change-settings.ts';
import { createInstance } from '@posthorn/core/instances/create-instance.ts';
import { deleteInstance } from '@posthorn/core/instances/delete-instance.ts';
import { findInstance } from '@posthorn/core/instances/find-instance.ts';
import { listInstances } from '@posthorn/core/instances/list-instances.ts';
import type { ProxyRules } from '@posthorn/core/instances/proxy.ts';
import { readConnection } from '@posthorn/core/instances/read-connection.ts';
import { readQr } from '@posthorn/core/instances/read-qr.ts';
import { requestAction } from '@posthorn/core/instances/request-action.ts';
import { requestPairingCode } from '@posthorn/core/instances/request-pairing-code.ts';
import type { LifecycleAction } from '@posthorn/core/instances/transitions.ts';
import { updateInstance } from '@posthorn/core/instances/update-instance.ts';
import { failWaiting } from '@posthorn/core/messages/fail-waiting.ts';
import type { GraphAddress } from '@posthorn/core/network/graph-api.ts';
import { beforeFirst } from '@posthorn/core/platform/before-first.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { NotificationWaits } from '@posthorn/core/platform/broker/notification-waits.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Orm } from '@posthorn/core/platform/database/orm.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import { drawQrPicture } from '@posthorn/core/platform/qr-picture.ts';
import type { Handler, Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';

export interface InstancesRoutesDeps {
  orm: Orm;
  db: Db;
  bus: Bus;
  clock: Clock;
  notifications: NotificationWaits;
  /** The networks of this installation, the default one first. */
  drivers: readonly string[];
  proxies: ProxyRules;
  cipher: Cipher;
  graph: GraphAddress;
}

const QR_PICTURE = { maxWidthPx: 512, marginModules: 4 };

/** The lifecycle and settings of instances (docs/reference/instances.md). */
export function instancesRoutes(deps: InstancesRoutesDeps): Handlers<typeof instances> {
  const action =
    (name: LifecycleAction): Handler<typeof instances.connect> =>
    async ({ principal, params }) => ({
      status: 202,
      body: await requestAction(deps, { principal, instanceId: params.instanceId, action: name }),
    });
  return {
    create: async ({ principal, body }) => ({
      status: 201,
      body: await createInstance(deps, { principal, ...body }),
    }),
    list: async ({ principal, query }) => {
      return paged(query, await listInstances(deps, { companyId: principal.companyId, ...query }));
    },
    get: async ({ principal, params }) => ({
      status: 200,
      body: await findInstance(deps, { principal, ...params }),
    }),
    update: async ({ principal, params, body }) => ({
      status: 200,
      body: await updateInstance(deps, { principal, ...params, ...body }),
    }),
    remove: async ({ principal, params, signal }) => {
      await deleteInstance({ ...deps, failWaiting }, { principal, ...params, signal });
      return { status: 204 };
    },
    connect: action('connect'),
    disconnect: action('disconnect'),
    restart: action('restart'),
    logout: action('logout'),
    giveCredentials: async ({ principal, params, body }) => ({
      status: 200,
      body: await giveCredentials(deps, { principal, ...params, given: body }),
    }),
    qr: async ({ principal, params, headers, signal }) => {
      const { qr, expiresAt } = await readQr(deps, { principal, ...params, signal });
      const cache = { 'cache-control': 'no-store', vary: 'Accept' };
      if (wantsJson(headers.accept))
        return { status: 200, body: { qr, expires_at: expiresAt.toISOString() }, headers: cache };
      const png = drawQrPicture(qr, QR_PICTURE);
      return { status: 200, body: png as never, headers: { ...cache, 'content-type': 'image/png' } };
    },
    pairingCode: async ({ principal, params, body, signal }) => {
      const { code, phone, expiresAt } = await requestPairingCode(deps, {
        principal,
        ...params,
        phone: body.phone,
        signal,
      });
      return { status: 200, body: { code, phone, expires_at: expiresAt.toISOString() } };
    },
    connection: async ({ principal, params }) => ({
      status: 200,
      body: await readConnection(deps, { principal, ...params }),
    }),
    getSettings: async ({ principal, params }) => ({
      status: 200,
      body: await readSettings(deps, { principal, ...params }),
    }),
    updateSettings: async ({ principal, params, body }) => ({
      status: 200,
      body: await changeSettings(deps, { principal, ...params, changes: body }),
    }),
  };
}

/** JSON if `Accept` names it and no image type; browsers and curl get the picture. */
function wantsJson(accept: string | undefined): boolean {
  const types = (accept ?? '').split(',').map((type) => beforeFirst(type, ';').trim().toLowerCase());
  return types.includes('application/json') && !types.includes('image/png') && !types.includes('image/*');
}
