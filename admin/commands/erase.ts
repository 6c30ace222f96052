import { createBillingClient } from '@posthorn/core/accounts/company/billing-client.ts';
import { purgeCompanies } from '@posthorn/core/billing/purge-companies.ts';
import { openStorage } from '@posthorn/core/media/open-storage.ts';
import { eraseCompany } from '@posthorn/core/operations/erase-company.ts';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import type { AdminCommand, AdminRun } from '../command.ts';
import { companyIdIn } from './company-id.ts';

export const erase: AdminCommand = {
  usage: 'erase <company id> --yes',
  summary: 'erase a company at once and for good, and check that nothing is left',
  prepare(args) {
    const [id, confirmed] = args;
    const companyId = companyIdIn(id);
    if (confirmed !== '--yes' || args.length > 2)
      throw new StartError(`add --yes to erase company ${companyId}: nothing brings it back but a backup`);
    return eraseNow(companyId);
  },
};

function eraseNow(companyId: number): AdminRun {
  return async ({ config, db, log, tell }) => {
    const billing = createBillingClient({
      baseUrl: config.BILLING_INTERNAL_URL,
      secret: config.INTERNAL_SECRET,
    });
    if (!billing)
      throw new StartError(
        'BILLING_INTERNAL_URL and INTERNAL_SECRET are required: subscriptions are cancelled first',
      );
    const storage = await openStorage({ config, db });
    try {
      const purgeBilling = () => purgeCompanies({ db });
      const done = await eraseCompany(
        { db, storage, billing, purgeBilling, now: new Date(), log },
        companyId,
      );
      tell(
        `company ${companyId}: ${done.cancelledSubscriptions} subscriptions cancelled, ${done.objects} objects removed`,
      );
      for (const [table, rows] of Object.entries(done.rowsLeft)) tell(`${table}: ${rows} rows are left`);
      for (const key of done.objectsLeft) tell(`the storage still has ${key}`);
      if (done.uploads > 0)
        tell(`${done.uploads} uploads are still running: their files will be removed within a day`);
      const isErased = Object.keys(done.rowsLeft).length === 0 && done.objectsLeft.length === 0;
      tell(isErased ? 'nothing of it is left' : 'not erased: run this again');
      return isErased;
    } finally {
      await storage?.close();
    }
  };
}
