import { exportCompany } from '@posthorn/core/operations/export-company.ts';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import { createStorage } from '@posthorn/core/platform/storage/create-storage.ts';
import type { AdminCommand } from '../command.ts';
import { companyIdIn } from './company-id.ts';

export const exportData: AdminCommand = {
  usage: 'export <company id> <empty folder>',
  summary: 'write all that is kept of a company: rows as JSON lines, and media',
  async run({ config, db, tell }, args) {
    const [id, into] = args;
    if (into === undefined || args.length > 2) throw new StartError('export takes a company id and a folder');
    const companyId = companyIdIn(id);
    const storage = await createStorage(config);
    try {
      const { files, missingMedia } = await exportCompany(
        { db, storage, now: new Date() },
        { companyId, into },
      );
      const rows = files.reduce((sum, file) => sum + (file.rows ?? 0), 0);
      tell(`company ${companyId}: ${rows} rows in ${files.length} files below ${into}`);
      if (missingMedia.length > 0)
        tell(`the storage lacks ${missingMedia.length} objects: ${missingMedia.join(', ')}`);
      return missingMedia.length === 0;
    } finally {
      await storage?.close();
    }
  },
};
