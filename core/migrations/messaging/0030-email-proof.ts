import { Migration } from '@mikro-orm/migrations';

/**
 * Keeps apart what the API calls a verified e-mail (a quick registration has one at once, and so has a user
 * whom an owner gave a password) and an address whose mailbox somebody was seen to read.
 */
export class EmailProof extends Migration {
  override name = '0030-email-proof';

  override up(): void {
    this.addSql(`
      ALTER TABLE users
        -- since when we know that who has this account reads its mailbox: by code, link or provider
        ADD COLUMN email_proven_at timestamptz,
        -- registered the company: what is in it goes back to what this user set up
        ADD COLUMN is_founder boolean NOT NULL DEFAULT false;
      -- Each of these was done with a code or a link from the mailbox; a provider's identity proves it as well.
      UPDATE users u SET email_proven_at = coalesce(email_verified_at, updated_at)
      WHERE EXISTS (SELECT 1 FROM oauth_identities i WHERE i.user_id = u.id)
         OR EXISTS (SELECT 1 FROM audit_log a WHERE a.user_id = u.id
                    AND a.action IN ('email.verified', 'email.changed', 'password.reset'));
      UPDATE users u SET is_founder = true
      WHERE EXISTS (SELECT 1 FROM audit_log a WHERE a.user_id = u.id AND a.action = 'company.registered');
    `);
  }
}
