/** The message that a send makes: what its rule says of a body that has passed the contract. */
export interface NewMessage {
  type: string;
  chatJid: string;
  content: Record<string, unknown>;
  /** Service UUID or network hex id of the quoted message (SND-9). */
  quotedId?: string | undefined;
  mediaId?: string | undefined;
  /** Hex SHA-256 of the media: part of what makes two contents identical. */
  mediaHash?: string | undefined;
  /** On a forward that carries the forwarded mark: how often the content was forwarded. */
  forwardingScore?: number | undefined;
  /** Data for the dispatch besides the message; kept until the task is done. */
  payload?: Record<string, unknown> | undefined;
  /** Delete and edit make no message of their own: the id of the one that they change. */
  changes?: string | undefined;
}
