import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';

export interface Paged {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage(): Promise<unknown>;
}

/** Loads the next page of a list, where there is one. */
export function MoreButton({ list }: { list: Paged }) {
  const { t } = useTranslation();
  if (!list.hasNextPage) return null;
  return (
    <div>
      <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        {t('common.actions.more')}
      </Button>
    </div>
  );
}
