import { type MailContent, renderMail } from './mail-content.ts';

/** Every mail we send, by its kind. */
export const mails = {
  /** After registration with a password, and again on request (spec 3.5). */
  verificationCode: (mail: { name: string; code: string }): MailContent =>
    renderMail('Your verification code', [
      `Hello ${mail.name},`,
      'type this code to verify your e-mail address:',
      { code: mail.code },
      'It is good for 30 minutes. If you did not register, ignore this mail.',
    ]),

  /** One-step registration (spec 2.4): the only copy of the generated password that is kept anywhere. */
  quickRegistration: (mail: { email: string; password: string; loginUrl: string }): MailContent =>
    renderMail('Your account is ready', [
      'Your account was created. Log in with:',
      { facts: { 'E-mail': mail.email, Password: mail.password } },
      { link: mail.loginUrl, label: 'Log in' },
      'Change the password after the first login.',
    ]),

  passwordReset: (mail: { name: string; link: string; minutes: number }): MailContent =>
    renderMail('Reset your password', [
      `Hello ${mail.name},`,
      'somebody, probably you, asked to reset the password of this account.',
      { link: mail.link, label: 'Choose a new password' },
      `The link works once, for ${mail.minutes} minutes. If it was not you, ignore this mail.`,
    ]),

  passwordChanged: (mail: { name: string }): MailContent =>
    renderMail('Your password was changed', [
      `Hello ${mail.name},`,
      'the password of your account was just changed and every session was ended.',
      'If it was not you, reset your password at once.',
    ]),

  invite: (mail: { name: string; company: string; link: string; days: number }): MailContent =>
    renderMail(`You are invited to ${mail.company}`, [
      `Hello ${mail.name},`,
      `you were invited to join ${mail.company}.`,
      { link: mail.link, label: 'Choose your password' },
      `The link works once, for ${mail.days} days.`,
    ]),

  emailChangeCode: (mail: { name: string; code: string }): MailContent =>
    renderMail('Confirm your new e-mail address', [
      `Hello ${mail.name},`,
      'type this code to move your account to this address:',
      { code: mail.code },
      'It is good for 30 minutes. If you did not ask for this, ignore this mail.',
    ]),

  /** To the old address; names neither the new one nor the code. */
  emailChangeNotice: (mail: { name: string }): MailContent =>
    renderMail('Your e-mail address is about to change', [
      `Hello ${mail.name},`,
      'somebody with your password asked to move your account to another e-mail address.',
      'If it was not you, change your password at once: the move then fails.',
    ]),

  accountDeleted: (mail: { name: string; company: string; purgeOn: string }): MailContent =>
    renderMail('Your account was deleted', [
      `Hello ${mail.name},`,
      `the account of ${mail.company} was deleted. Its data is kept until ${mail.purgeOn} and then removed for good.`,
    ]),
};
