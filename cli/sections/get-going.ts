import type { Command } from '../command.ts';
import { login } from '../commands/account/login.ts';
import { logout } from '../commands/account/logout.ts';
import { quickRegister } from '../commands/account/quick-register.ts';
import { register } from '../commands/account/register.ts';
import { verifyEmail } from '../commands/account/verify-email.ts';
import { whoami } from '../commands/account/whoami.ts';
import { dev } from '../commands/dev/dev.ts';
import { doctor } from '../commands/doctor/doctor.ts';
import { calls } from '../endpoints/calls.ts';

export const getGoing: readonly Command[] = [
  register,
  quickRegister,
  login,
  logout,
  verifyEmail,
  calls('resend-code', 'auth.resendVerification', {
    summary: 'Ask for another verification code',
    shows: ({ message }) => message,
  }),
  whoami,
  doctor,
  dev,
];
