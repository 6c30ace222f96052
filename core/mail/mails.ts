import { type MailContent, type MailPart, renderMail } from './mail-content.ts';
import { mailLines, mailName } from './mail-name.ts';

/** Characters of feedback that a mail shows; the feedback keeps the whole text. */
const FEEDBACK_MAIL_CHARS = 1_000;

/**
 * Every mail we send, by its kind. Names in them were chosen by strangers, so they pass `mailName`, and no
 * subject has one.
 */
export const mails = {
  /** After registration with a password, and again on request (ACC-18, ACC-19). */
  verificationCode: (mail: { name: string; code: string }): MailContent =>
    renderMail('Your verification code', [
      hello(mail.name),
      'type this code to verify your e-mail address:',
      { code: mail.code },
      'It is good for 30 minutes. If you did not register, ignore this mail.',
    ]),

  /** One-step registration (ACC-4): the only copy of the generated password that is kept anywhere. */
  quickRegistration: (mail: {
    email: string;
    password: string;
    code: string;
    loginUrl: string;
  }): MailContent =>
    renderMail('Your account is ready', [
      'Your account was created. Log in with:',
      { facts: { 'E-mail': mail.email, Password: mail.password } },
      { link: mail.loginUrl, label: 'Log in' },
      'Change the password after the first login, and type this code to prove that this mailbox is yours:',
      { code: mail.code },
      `It is good for 30 minutes. Until the mailbox is proven, ${WHAT_A_PROOF_ENDS}`,
      'If you did not register, ignore this mail. The address stays yours: reset the password to take the account over.',
    ]),

  /** `provesOwner`: the mailbox was not proven yet, and following the link proves it. */
  passwordReset: (mail: { name: string; link: string; minutes: number; provesOwner: boolean }): MailContent =>
    renderMail('Reset your password', [
      hello(mail.name),
      'somebody, probably you, asked to reset the password of this account.',
      { link: mail.link, label: 'Choose a new password' },
      ...(mail.provesOwner ? [`This mailbox was never proven for the account: ${WHAT_A_PROOF_ENDS}`] : []),
      `The link works once, for ${mail.minutes} minutes. If it was not you, ignore this mail.`,
    ]),

  passwordChanged: (mail: { name: string }): MailContent =>
    renderMail('Your password was changed', [
      hello(mail.name),
      'the password of your account was just changed and every session was ended.',
      'If it was not you, reset your password at once.',
    ]),

  invite: (mail: { name: string; company: string; link: string; days: number }): MailContent =>
    renderMail('You are invited to join a company', [
      hello(mail.name),
      `you were invited to join the company “${mailName(mail.company)}”.`,
      { link: mail.link, label: 'Choose your password' },
      `The link works once, for ${mail.days} days. If you do not know the company, ignore this mail.`,
    ]),

  emailChangeCode: (mail: { name: string; code: string }): MailContent =>
    renderMail('Confirm your new e-mail address', [
      hello(mail.name),
      'type this code to move your account to this address:',
      { code: mail.code },
      'It is good for 30 minutes. If you did not ask for this, ignore this mail.',
    ]),

  /** To the old address; names neither the new one nor the code. */
  emailChangeNotice: (mail: { name: string }): MailContent =>
    renderMail('Your e-mail address is about to change', [
      hello(mail.name),
      'somebody with your password asked to move your account to another e-mail address.',
      'If it was not you, change your password at once: the move then fails.',
    ]),

  accountDeleted: (mail: { name: string; company: string; purgeOn: string }): MailContent =>
    renderMail('Your account was deleted', [
      hello(mail.name),
      `the account of “${mailName(mail.company)}” was deleted. Its data is kept until ${mail.purgeOn} and then removed for good.`,
    ]),

  /** To a mailbox that is proven for the first time, about the account that was made with its address. */
  accountTakenOver: (mail: {
    company: string;
    keys: number;
    cleared: Record<'users' | 'webhooks' | 'instances' | 'scheduled' | 'queued' | 'proxies', number> | null;
  }): MailContent =>
    renderMail('Your account is now yours alone', [
      `You have just shown that this mailbox is yours. An account of the company “${mailName(mail.company)}” had its address before, and nobody had proven it.`,
      'So that nobody else is left in your account, this ended:',
      {
        facts: {
          'Password and sessions': 'all that were there',
          'API keys revoked': String(mail.keys),
          ...(mail.cleared && {
            'Other users removed': String(mail.cleared.users),
            'Webhooks disabled': String(mail.cleared.webhooks),
            'Instances disconnected': String(mail.cleared.instances),
            'Scheduled sends cancelled': String(mail.cleared.scheduled),
            'Queued sends cancelled': String(mail.cleared.queued),
            'Proxies removed': String(mail.cleared.proxies),
          }),
        },
      },
      ...notes(mail.cleared !== null),
    ]),

  /** To the administrators of the platform (CHT-11). */
  feedback: (mail: {
    id: number;
    companyId: number;
    userId: number;
    kind: string;
    message: string;
    page?: string | undefined;
    trace_id?: string | undefined;
  }): MailContent =>
    renderMail(`Feedback ${mail.id}: ${mail.kind}`, [
      'A user wrote this. Links in it are made unusable; the exact words are in the list of feedback.',
      ...mailLines(mail.message, FEEDBACK_MAIL_CHARS),
      {
        facts: {
          Company: String(mail.companyId),
          User: String(mail.userId),
          ...(mail.page && { Page: mailName(mail.page) }),
          ...(mail.trace_id && { 'Trace id': mail.trace_id }),
        },
      },
    ]),

  /** To a user who was removed because the owner's mailbox was proven for the first time. */
  accessEnded: (mail: { name: string; company: string }): MailContent =>
    renderMail('Your access to a company ended', [
      hello(mail.name),
      `your access to the company “${mailName(mail.company)}” ended: its owner's mailbox was proven for the first time, which removes every other user. Ask the owner for a new invite.`,
    ]),
};

const WHAT_A_PROOF_ENDS =
  'a new password from a mailed link, or a login with Google or GitHub, ends what was set up before: keys, webhooks, connections and other users.';

function hello(name: string): string {
  return `Hello ${mailName(name)},`;
}

function notes(owns: boolean): MailPart[] {
  return owns
    ? ['Nothing else was deleted: enable, connect and invite again what is yours, and remove the rest.']
    : [
        'The company is run by others, who can see what you do in it. If you do not know them, do not use it.',
      ];
}
