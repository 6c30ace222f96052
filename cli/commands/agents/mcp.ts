import { defineCommand, toggle } from '../../command.ts';

export const mcp = defineCommand({
  name: 'mcp',
  summary: 'Serve the API to an agent over stdin and stdout (Model Context Protocol)',
  details:
    'Tools, their arguments and their descriptions come from the contract. Only what reads is offered, unless --allow-writes is given. Credentials are those of other commands; tools that show or change credentials are never offered.',
  flags: { allowWrites: toggle('offer what sends, changes and deletes, too') },
  async run(context, { allowWrites }) {
    // Loaded by this command alone.
    const { serveTools } = await import('../../mcp/serve.ts');
    await serveTools(context, { allowWrites });
  },
});
