import { defineCommand, list, toggle } from '../../command.ts';

export const mcp = defineCommand({
  name: 'mcp',
  summary: 'Serve the API to an agent over stdin and stdout (Model Context Protocol)',
  details: `Tools, their arguments and their descriptions come from the contract. Only tools that read are offered, unless --allow-writes is given.
An agent that reads messages of strangers may be talked into anything. So tools that send data to an address of the caller's
choice, such as webhooks_update or instances_update, are offered only when --allow names them. Credentials are those of other commands.
Tools that make, show or change credentials are never offered, and values of webhook headers are masked.`,
  flags: {
    allowWrites: toggle('offer tools that send, change and delete, too'),
    allow: list('names', 'offer these tools, too, e.g. webhooks_update'),
    tools: list('groups', 'offer these groups alone, e.g. send,messages,chats; default all'),
  },
  async run(context, { allowWrites, allow, tools: groups }) {
    // Only this command loads it.
    const { serveTools } = await import('../../mcp/serve.ts');
    await serveTools(context, { allowWrites, allow, groups });
  },
});
