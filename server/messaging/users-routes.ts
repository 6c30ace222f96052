import type { users } from '@posthorn/contract/messaging/users.ts';
import type { AccountDeps } from '@posthorn/core/accounts/deps.ts';
import { createUser } from '@posthorn/core/accounts/users/create-user.ts';
import { listUsers } from '@posthorn/core/accounts/users/list-users.ts';
import { removeUser } from '@posthorn/core/accounts/users/remove-user.ts';
import { updateUser } from '@posthorn/core/accounts/users/update-user.ts';
import type { Orm } from '@posthorn/core/platform/database/orm.ts';
import type { Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';

export interface UsersRoutesDeps
  extends Pick<AccountDeps, 'db' | 'clock' | 'passwords' | 'mails' | 'settings' | 'forget'> {
  orm: Orm;
}

/** The users of the company (ACC-35, ACC-36). */
export function usersRoutes(deps: UsersRoutesDeps): Handlers<typeof users> {
  return {
    async list({ principal, query }) {
      return paged(query, await listUsers(deps, { companyId: principal.companyId, ...query }));
    },
    async create({ principal, body, traceId }) {
      return { status: 201, body: await createUser(deps, { ...body, principal, traceId }) };
    },
    async update({ principal, params, body, traceId }) {
      const userId = Number(params.id);
      return { status: 200, body: await updateUser(deps, { ...body, principal, userId, traceId }) };
    },
    async remove({ principal, params, traceId }) {
      await removeUser(deps, { principal, userId: Number(params.id), traceId });
      return { status: 204 };
    },
  };
}
