import { defineCommand, integer, required } from '../../command.ts';

export const revokeToken = defineCommand({
  name: 'tokens revoke',
  endpoints: ['tokens.revoke'],
  summary: 'Revoke an API key',
  destroys: 'This ends the API key',
  args: { id: required(integer('id', 'its number, from msgctl tokens list')) },
  async run(context, { id }) {
    await context.client().tokens.revoke({ id });
    context.out.show({ id, revoked: true }, `revoked key ${id}`);
  },
});
