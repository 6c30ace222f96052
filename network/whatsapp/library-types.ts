/**
 * What we use of the library, declared by ourselves: types must check without the library, and its own say more than
 * we rely on.
 */
export interface WhatsAppLibrary {
  /** The library's signature functions. Its own `verify` is replaced by ours: see `signatures.ts`. */
  Curve: {
    sign(privateKey: Uint8Array, message: Uint8Array): Uint8Array;
    verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
  };
  /** The root that signs the certificates of the network's servers. */
  WA_CERT_DETAILS: { SERIAL: number; ISSUER: string; PUBLIC_KEY: Uint8Array };
  makeWASocket(config: Record<string, unknown>): unknown;
}
