/** The ways to send, by the path of their route. In English the contract names them. */
export const sends: Readonly<Record<string, string>> = {};
