import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import type { Kept } from '../support/whatsapp/driver-harness.ts';

/** The functions of a network that the tests of the port need, for every network. */
export interface ContractNetwork {
  name: string;
  driver: NetworkDriver;
  newPhone(): Promise<ContractPhone>;
  /**
   * For a network that pairs with nobody and keeps no line: gives an instance the credentials of this number, and an
   * inbox for its webhooks. Absent where a phone scans a code.
   */
  connectTo?(kept: Kept, phone: ContractPhone): Promise<void>;
  close(): Promise<void>;
}

export interface Shown {
  id: string;
  from: string;
  text: string;
}

/** A phone, to pair with or to chat with. */
export interface ContractPhone {
  number: string;
  jid: string;
  pair(qr: string): Promise<void>;
  enterCode(code: string): Promise<void>;
  /** Sends a text to another phone; returns its network id. */
  text(to: ContractPhone, text: string): Promise<string>;
  /** Sends a file; returns its network id. */
  image(to: ContractPhone, file: Buffer, caption: string): Promise<string>;
  /** The messages that it shows in a chat, in order. */
  shown(chat: ContractPhone): Promise<Shown[]>;
  /** The bytes of an image that it shows. */
  imageOf(chat: ContractPhone, id: string): Promise<Buffer>;
  read(chat: ContractPhone): Promise<void>;
  /** Whether it has got a read receipt for its message. */
  wasRead(chat: ContractPhone, id: string): Promise<boolean>;
  /** Adds messages from before the pairing, oldest first; returns the network ids. */
  saidBefore(chat: ContractPhone, said: readonly Said[]): Promise<string[]>;
  /** The profile that others see; `picture` has its bytes. */
  profile(): Promise<{ name: string; about: string; picture: Buffer | null }>;
  /** Becomes a business with this shop. */
  openShop(shop: ContractShop): Promise<void>;
  /** Calls another phone; returns the call's id. */
  call(to: ContractPhone): Promise<string>;
  /** Whether the call still rings, or was rejected. */
  callState(callId: string): Promise<'ringing' | 'rejected'>;
  /** Makes the network fail in this way for the instance that is paired with the phone. */
  fault(kind: ContractFault): Promise<void>;
}

export interface Said {
  text: string;
  fromMe: boolean;
}

/** The shop of a business, in the form in which the port answers it. */
export interface ContractShop {
  address: string;
  description: string;
  email: string;
  category: string;
  hours: { timezone: string; day: string; opens: string; closes: string };
  products: { id: string; name: string; price: number; currency: string; imageUrl: string }[];
  collection: { id: string; name: string; products: string[] };
}

/**
 * `drop`: the line is cut now. `drop_before`, `drop_after`: the line is cut with the next message, before or after the
 * network took it. `refuse`: the next message is refused. `logout`: the phone unlinks the instance, or its credentials
 * become invalid.
 */
export type ContractFault = 'drop' | 'drop_before' | 'drop_after' | 'refuse' | 'logout' | 'ban';
