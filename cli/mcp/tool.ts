/** What an agent may be offered: an endpoint as a tool of the Model Context Protocol. */
export interface Tool {
  /** e.g. `messages_sendText`. */
  name: string;
  /** The endpoint that it calls, by its name in the contract. */
  endpoint: string;
  description: string;
  /** It only reads. Everything else needs `--allow-writes`. */
  isReading: boolean;
  isDestructive: boolean;
  /** Where each argument goes. */
  path: readonly string[];
  query: readonly string[];
  body: readonly string[];
  /** JSON Schema of all arguments together. */
  inputSchema: { type: 'object'; properties: Record<string, object>; required: string[] };
}
