import { INTEGER_ID_MAX } from '@posthorn/contract/limits.ts';
import { StartError } from '@posthorn/core/platform/run-main.ts';

/** The company that an argument names. Throws StartError. */
export function companyIdIn(text: string | undefined): number {
  if (text === undefined || !/^[1-9]\d{0,9}$/.test(text) || Number(text) > INTEGER_ID_MAX)
    throw new StartError(`${text ?? 'nothing'} is no id of a company: GET /v1/admin/companies lists them`);
  return Number(text);
}
