/** Pairing: a driver's QR, the code it requests, and the phone that answers either. */
import { randomBytes, randomInt } from 'node:crypto';
import { sendFrame } from '../state/account-session.ts';
import { freshNumber, pairAccount } from '../state/accounts.ts';
import type { PairingOffer, Session } from '../state/model.ts';
import type { World } from '../state/world.ts';

export interface PairingSettings {
  qrTtlMs: number;
  codeTtlMs: number;
  /** Instances pair automatically, with a fresh number, this long after their first QR; null: never. */
  autoPairAfterMs: number | null;
}

export interface PairingDesk {
  /** Shows a QR to this session, and a new one each time it expires, until it is paired or gone. */
  offer(session: Session): PairingOffer;
  /** The session of a currently valid QR. */
  byQr(qr: string): Session | undefined;
  byCode(code: string): { session: Session; phone: string } | undefined;
}

/** Letters and digits that are not confused with each other. */
const CODE_ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const CODE_LENGTH = 8;

export function createPairingDesk(world: World, settings: PairingSettings): PairingDesk {
  const qrs = new Map<string, Session>();
  const codes = new Map<string, { session: Session; phone: string; expiresAt: number }>();

  function dropCodesOf(session: Session) {
    for (const [code, entry] of codes) if (entry.session === session) codes.delete(code);
  }

  return {
    offer(session) {
      let qr = '';
      const showQr = () => {
        qrs.delete(qr);
        qr = `posthorn-sandbox:${randomBytes(24).toString('base64url')}`;
        qrs.set(qr, session);
        sendFrame(session, { t: 'qr', qr, expires_at: Date.now() + settings.qrTtlMs });
      };
      showQr();
      const rotation = setInterval(showQr, settings.qrTtlMs);
      const autoPair =
        settings.autoPairAfterMs === null
          ? undefined
          : setTimeout(() => completePairing(world, session, freshNumber(world)), settings.autoPairAfterMs);
      return {
        requestCode(phone) {
          dropCodesOf(session);
          const code = drawCode();
          codes.set(code, { session, phone, expiresAt: Date.now() + settings.codeTtlMs });
          return code;
        },
        withdraw() {
          clearInterval(rotation);
          clearTimeout(autoPair);
          qrs.delete(qr);
          dropCodesOf(session);
        },
      };
    },
    byQr: (qr) => qrs.get(qr),
    byCode(code) {
      const entry = codes.get(code.replace(/[\s-]/g, '').toUpperCase());
      return entry && entry.expiresAt > Date.now() ? entry : undefined;
    },
  };
}

function drawCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => CODE_ALPHABET[randomInt(CODE_ALPHABET.length)]).join('');
}

/**
 * Binds the session's instance to this number. The session goes live when the driver has confirmed that the
 * credentials are stored: a crash before that would lose anything delivered earlier.
 */
export function completePairing(world: World, session: Session, phone: string): void {
  session.offer?.withdraw();
  session.offer = null;
  const account = pairAccount(world, phone, session.instanceId);
  session.account = account;
  session.phase = 'confirming';
  world.flush();
  world.log.info({ instance_id: session.instanceId }, 'sandbox instance paired');
  sendFrame(session, {
    t: 'paired',
    token: account.token,
    phone,
    jid: account.phone.jid,
    push_name: account.pushName,
  });
}
