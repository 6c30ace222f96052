/** Company 1 is the platform itself (ACC-38). */
export const PLATFORM_COMPANY_ID = 1;

/**
 * Whether a user is an administrator of the platform: of company 1, with the role and the flag, and on the
 * allowlist at this moment (ACC-38). Taking an address off the list is enough to end it.
 */
export function isSuperadmin(
  user: { companyId: number; role: string; flag: boolean; email: string },
  allowlist: readonly string[],
): boolean {
  return (
    user.companyId === PLATFORM_COMPANY_ID &&
    user.role === 'superadmin' &&
    user.flag &&
    allowlist.includes(user.email.toLowerCase())
  );
}
