/** A mail, ready to go. */
export interface OutgoingMail {
  /** The same for every try of one mail, so that a receiver can drop a repeat. */
  id: string;
  kind: string;
  to: string;
  subject: string;
  text: string;
  html: string;
}

/** How mails are sent. `send` resolves when another system has accepted responsibility for the mail. */
export interface Mailer {
  send(mail: OutgoingMail): Promise<void>;
  close(): Promise<void>;
}

/** The address refused for good: another try would meet the same answer. */
export class MailRefused extends Error {
  override name = 'MailRefused';
}
