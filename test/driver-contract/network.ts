import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import type { Kept } from '../support/whatsapp/driver-harness.ts';

/** What the tests of the port need of a network, whichever it is. */
export interface ContractNetwork {
  name: string;
  driver: NetworkDriver;
  newPhone(): Promise<ContractPhone>;
  /**
   * Of a network that pairs with nobody and keeps no line: gives an instance the credentials of this number, and an inbox
   * for what is posted. Absent where a phone scans a code.
   */
  connectTo?(kept: Kept, phone: ContractPhone): Promise<void>;
  close(): Promise<void>;
}

export interface Shown {
  id: string;
  from: string;
  text: string;
}

/** A phone: somebody to pair with, or to chat with. */
export interface ContractPhone {
  number: string;
  jid: string;
  pair(qr: string): Promise<void>;
  enterCode(code: string): Promise<void>;
  /** Sends a text to another phone; answers its network id. */
  text(to: ContractPhone, text: string): Promise<string>;
  /** Sends a file; answers its network id. */
  image(to: ContractPhone, file: Buffer, caption: string): Promise<string>;
  /** What it shows of a chat, in order. */
  shown(chat: ContractPhone): Promise<Shown[]>;
  /** The bytes of an image that it shows. */
  imageOf(chat: ContractPhone, id: string): Promise<Buffer>;
  read(chat: ContractPhone): Promise<void>;
  /** Whether it was told that its message was read. */
  wasRead(chat: ContractPhone, id: string): Promise<boolean>;
  /** What was said before it was paired, oldest first; answers the network ids. */
  saidBefore(chat: ContractPhone, said: readonly Said[]): Promise<string[]>;
  /** What others see of it; `picture` are its bytes. */
  profile(): Promise<{ name: string; about: string; picture: Buffer | null }>;
  /** Becomes a business that shows this. */
  openShop(shop: ContractShop): Promise<void>;
  /** Calls another phone; answers the call's id. */
  call(to: ContractPhone): Promise<string>;
  /** Whether the call still rings, or was rejected. */
  callState(callId: string): Promise<'ringing' | 'rejected'>;
  /** Messages of the instance that is paired with it do not reach it. */
  fault(kind: ContractFault): Promise<void>;
}

export interface Said {
  text: string;
  fromMe: boolean;
}

/** What a business shows, as the port answers it. */
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
 * `drop`: the line is cut now. `drop_before`, `drop_after`: with the next message, before or after the network took it.
 * `refuse`: the next message is refused. `logout`: the phone unlinks it, or its credentials hold no longer.
 */
export type ContractFault = 'drop' | 'drop_before' | 'drop_after' | 'refuse' | 'logout' | 'ban';
