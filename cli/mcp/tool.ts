/** An endpoint as a tool of the Model Context Protocol, which a server may offer to an agent. */
export interface Tool {
  /** e.g. `messages_sendText`. */
  name: string;
  /** The endpoint that it calls, by its name in the contract. */
  endpoint: string;
  description: string;
  /** It only reads. Everything else needs `--allow-writes`. */
  isReading: boolean;
  isDestructive: boolean;
  /**
   * It sends data to an address that its caller gives, or repeats such a delivery: offered only by `--allow <name>`.
   */
  isByNameOnly: boolean;
  /** Fields of its answer whose values are secret: agents see only that they have a value. */
  masked: readonly string[];
  /** Where each argument goes. The parameters of the path are spelled as in the path, the arguments in snake_case. */
  path: readonly string[];
  query: readonly string[];
  body: readonly string[];
  /** JSON Schema of all arguments together. */
  inputSchema: { type: 'object'; properties: Record<string, object>; required: string[] };
}

/** One spelling for all arguments: `messageId` of a path is `message_id`, as in bodies and answers. */
export function argumentOf(param: string): string {
  return param.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
