import type { groups } from '@posthorn/contract/messaging/groups.ts';
import { changeParticipants } from '@posthorn/core/groups/change-participants.ts';
import { createGroup } from '@posthorn/core/groups/create-group.ts';
import { findGroup } from '@posthorn/core/groups/find-group.ts';
import { readInvite } from '@posthorn/core/groups/invites.ts';
import { joinGroup } from '@posthorn/core/groups/join-group.ts';
import { leaveGroup } from '@posthorn/core/groups/leave-group.ts';
import { listGroups } from '@posthorn/core/groups/list-groups.ts';
import { updateGroup } from '@posthorn/core/groups/update-group.ts';
import type { RpcDeps } from '@posthorn/core/rpc/request-owner.ts';
import type { Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';

/** Groups (CHT-6). */
export function groupsRoutes(deps: RpcDeps): Handlers<typeof groups> {
  return {
    create: async ({ principal, params, body, signal }) => ({
      status: 201,
      body: await createGroup(deps, { principal, ...params, body, signal }),
    }),
    list: async ({ principal, params, query, signal }) => {
      return paged(query, await listGroups(deps, { principal, ...params, query, signal }));
    },
    join: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await joinGroup(deps, { principal, ...params, body, signal }),
    }),
    get: async ({ principal, params, query, signal }) => ({
      status: 200,
      body: await findGroup(deps, { principal, ...params, query, signal }),
    }),
    update: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await updateGroup(deps, { principal, ...params, body, signal }),
    }),
    changeParticipants: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await changeParticipants(deps, { principal, ...params, body, signal }),
    }),
    invite: async ({ principal, params, signal }) => ({
      status: 200,
      body: await readInvite(deps, { principal, ...params, revoke: false, signal }),
    }),
    revokeInvite: async ({ principal, params, signal }) => ({
      status: 200,
      body: await readInvite(deps, { principal, ...params, revoke: true, signal }),
    }),
    leave: async ({ principal, params, signal }) => ({
      status: 200,
      body: await leaveGroup(deps, { principal, ...params, signal }),
    }),
  };
}
