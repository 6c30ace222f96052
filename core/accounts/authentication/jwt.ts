import { randomBytes } from 'node:crypto';
import { apiError } from '@posthorn/contract/api-error.ts';
import { JWT_LIFETIME_S } from '@posthorn/contract/limits.ts';
import { errors, jwtVerify, SignJWT } from 'jose';
import type { Role } from '../../access/principal.ts';
import type { Clock } from '../../platform/process/clock.ts';

/** The issuer of our JWTs; the messaging and billing services accept no other. */
export const JWT_ISSUER = 'posthorn';

/** See ACC-9. */
export interface JwtClaims {
  companyId: number;
  userId: number;
  role: Role;
  isSuperadmin: boolean;
  /** Unix milliseconds of the password change that was the last when it was issued. */
  pwdChangedAtMs: number;
  jti: string;
  /** Unix seconds. */
  exp: number;
}

export interface Jwt {
  /** A token of 15 minutes for `familyId`'s session, which ends with the session at the latest. */
  sign(claims: Omit<JwtClaims, 'jti' | 'exp'> & { familyId: string; sessionEndsAt: Date }): Promise<string>;
  /** Checks signature, algorithm, issuer and time. Throws 401 TOKEN_EXPIRED or TOKEN_INVALID. */
  verify(token: string): Promise<JwtClaims>;
}

/** Signs with `secret`, and takes the signatures of `accepted` (JWT_SECRETS_ACCEPTED) as well. */
export function createJwt(options: { secret: string; accepted?: readonly string[]; clock: Clock }): Jwt {
  const keys = [options.secret, ...(options.accepted ?? [])].map((secret) =>
    new TextEncoder().encode(secret),
  );
  const key = keys[0]!;
  return {
    sign(claims) {
      const nowS = Math.floor(options.clock.now().getTime() / 1000);
      return new SignJWT({
        company_id: claims.companyId,
        user_id: claims.userId,
        role: claims.role,
        is_superadmin: claims.isSuperadmin,
        pwd_changed_at: claims.pwdChangedAtMs,
      })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setJti(`${claims.familyId}.${randomBytes(12).toString('base64url')}`)
        .setSubject(String(claims.userId))
        .setIssuer(JWT_ISSUER)
        .setIssuedAt(nowS)
        .setExpirationTime(Math.min(nowS + JWT_LIFETIME_S, Math.floor(claims.sessionEndsAt.getTime() / 1000)))
        .sign(key);
    },
    async verify(token) {
      try {
        return claimsOf(await verifyWithAny(token, keys, options.clock.now()));
      } catch (cause) {
        throw apiError(cause instanceof errors.JWTExpired ? 'TOKEN_EXPIRED' : 'TOKEN_INVALID', { cause });
      }
    },
  };
}

/** Only a signature that does not fit lets the next key be tried. */
async function verifyWithAny(token: string, keys: readonly Uint8Array[], now: Date) {
  for (const [nth, key] of keys.entries()) {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ['HS256'],
        issuer: JWT_ISSUER,
        requiredClaims: ['jti', 'sub', 'exp', 'iat'],
        currentDate: now,
      });
      return payload;
    } catch (err) {
      if (nth === keys.length - 1 || !(err instanceof errors.JWSSignatureVerificationFailed)) throw err;
    }
  }
  throw new Error('there is no key');
}

function claimsOf(payload: Record<string, unknown>): JwtClaims {
  const { company_id, user_id, role, is_superadmin, pwd_changed_at, jti, exp } = payload;
  if (
    !Number.isSafeInteger(company_id) ||
    !Number.isSafeInteger(user_id) ||
    typeof pwd_changed_at !== 'number'
  )
    throw new Error('claims are missing');
  return {
    companyId: company_id as number,
    userId: user_id as number,
    role: role as Role,
    isSuperadmin: is_superadmin === true,
    pwdChangedAtMs: pwd_changed_at,
    jti: jti as string,
    exp: exp as number,
  };
}
