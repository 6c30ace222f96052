import type { UserDto } from '@posthorn/contract/messaging/users.ts';
import type { Orm } from '../../platform/database/orm.ts';
import { offsetOf } from '../../platform/database/paging.ts';
import { UserSchema } from '../entities.ts';

/** The users of a company, oldest first. */
export async function listUsers(
  deps: { orm: Orm },
  input: { companyId: number; page: number; limit: number },
): Promise<{ data: UserDto[]; total: number }> {
  const em = deps.orm.forCompany(input.companyId);
  const [users, total] = await em.findAndCount(
    UserSchema,
    {},
    { orderBy: { id: 'asc' }, limit: input.limit, offset: offsetOf(input) },
  );
  return {
    total,
    data: users.map((user) => ({
      id: user.id,
      email: user.email,
      name: user.name,
      role: user.role,
      // A proven mailbox means that the user has chosen a password or logged in at a provider.
      status: user.hasPassword || user.emailVerifiedAt ? 'active' : 'invited',
      email_verified: user.emailVerifiedAt !== null,
      created_at: user.createdAt.toISOString(),
    })),
  };
}
