/** Columns of delivery attempts. */
export const LOG_COLUMNS = [
  'id',
  'created_at',
  'event_type',
  'attempt',
  'success',
  'status_code',
  'error_class',
  'webhook_id',
] as const;
