import { EXPORTED_EVENTS } from '@posthorn/core/billing/provider-events/company-events.ts';
import { openStorage } from '@posthorn/core/media/open-storage.ts';
import { exportCompany } from '@posthorn/core/operations/export-company.ts';
import { PATIENT_LIMITS } from '@posthorn/core/platform/database/connection-limits.ts';
import { openReportReads } from '@posthorn/core/platform/database/report-reads.ts';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import type { AdminCommand, AdminRun } from '../command.ts';
import { companyIdIn } from './company-id.ts';

export const exportData: AdminCommand = {
  usage: 'export <company id> <empty folder>',
  summary: 'write all stored data of a company: rows as JSON lines, and media',
  prepare(args) {
    const [id, into] = args;
    if (!into || args.length > 2) throw new StartError('export takes a company id and a folder');
    return exportInto(companyIdIn(id), into);
  },
};

function exportInto(companyId: number, into: string): AdminRun {
  return async ({ config, db, log, tell }) => {
    const storage = await openStorage({ config, db });
    const reports = openReportReads({
      db,
      url: config.DATABASE_READ_URL,
      log,
      name: 'admin export',
      limits: PATIENT_LIMITS,
    });
    try {
      const { files, missingMedia, removedMedia } = await exportCompany(
        { db: await reports.choose(), storage, now: new Date(), others: [EXPORTED_EVENTS] },
        { companyId, into },
      );
      const rows = files.reduce((sum, file) => sum + (file.rows ?? 0), 0);
      tell(`company ${companyId}: ${rows} rows in ${files.length} files below ${into}`);
      if (removedMedia.length > 0)
        tell(`${removedMedia.length} media were deleted meanwhile: ${removedMedia.join(', ')}`);
      if (missingMedia.length > 0)
        tell(`the storage lacks ${missingMedia.length} objects: ${missingMedia.join(', ')}`);
      return missingMedia.length === 0;
    } finally {
      await reports.close();
      await storage?.close();
    }
  };
}
