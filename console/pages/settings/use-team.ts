import { type CreateUserBody, toArray, type User } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

/** Roles that an owner may give. */
export const ROLES = ['owner', 'admin', 'agent'] as const;
export type GivenRole = (typeof ROLES)[number];
const PAGE = 200;
const SHOWN_MAX = 1_000;

/** The users of the company, and the mutations that invite them, change their roles and remove them. */
export function useTeam() {
  const client = useClient();
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ['users'] });
  const team = useQuery<User[]>({
    queryKey: ['users'],
    queryFn: ({ signal }) =>
      toArray(client.users.list, { query: { limit: PAGE } }, { max: SHOWN_MAX, signal }),
  });
  const invite = useMutation({
    mutationFn: (body: CreateUserBody) => client.users.create({ body }),
    onSuccess: refresh,
  });
  const change = useMutation({
    mutationFn: ({ id, role }: { id: number; role: GivenRole }) =>
      client.users.update({ id, body: { role } }),
    onSettled: refresh,
  });
  const remove = useMutation({ mutationFn: (id: number) => client.users.remove({ id }), onSettled: refresh });
  return { team, invite, change, remove };
}
