import { Alert } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { useAuth } from '../api/api-context.ts';

/** Says on every page why it waits, as long as it waits. */
export function ConnectionBanner() {
  const { t } = useTranslation();
  const { connection } = useAuth();
  const trouble = useSyncExternalStore(connection.onChange, connection.trouble);
  return (
    <div role="status">
      {trouble && (
        <Alert color="orange" variant="outline" mb="md">
          {t(`common.trouble.${trouble}`)}
        </Alert>
      )}
    </div>
  );
}
