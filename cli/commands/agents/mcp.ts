import { defineCommand, list, toggle } from '../../command.ts';

export const mcp = defineCommand({
  name: 'mcp',
  summary: 'Serve the API to an agent over stdin and stdout (Model Context Protocol)',
  details: `Tools, their arguments and their descriptions come from the contract. Without --allow-writes, it offers only tools that read.
A message of a stranger may talk an agent into any call. So tools that send data to an address of the caller's choice, such
as webhooks_update or instances_update, are offered only if --allow names them. Tools that make, show or change credentials
are never offered, and values of webhook headers are masked. Calls use the same credentials as other commands.`,
  flags: {
    allowWrites: toggle('also offer tools that send, change and delete'),
    allow: list('names', 'also offer these tools, e.g. webhooks_update'),
    tools: list('groups', 'offer only these groups, e.g. send,messages,chats; default all'),
  },
  async run(context, { allowWrites, allow, tools: groups }) {
    // Only this command loads it.
    const { serveTools } = await import('../../mcp/serve.ts');
    await serveTools(context, { allowWrites, allow, groups });
  },
});
