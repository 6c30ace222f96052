/** The library's types of groups; see `library-types.ts`. */
export interface LibraryGroup {
  id: string;
  subject?: string | null;
  desc?: string | null;
  owner?: string | null;
  ownerPn?: string | null;
  creation?: number | null;
  announce?: boolean | null;
  restrict?: boolean | null;
  addressingMode?: string | null;
  ephemeralDuration?: number | null;
  participants?: { id: string; phoneNumber?: string | null; admin?: string | null }[] | null;
}

/** The part of a group that is read to encrypt for it. */
export type SendGroup = Pick<LibraryGroup, 'id' | 'addressingMode' | 'ephemeralDuration'> & {
  participants: { id: string }[];
};

/** Somebody who gets a message by a broadcast list of the account: both names, if they are known. */
export interface ListRecipient {
  jid: string;
  other: string | undefined;
}
