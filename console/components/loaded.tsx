import { Skeleton, Stack } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';

export interface Loading<T> {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
}

/** The loading sign appears only after this time, so that a short wait shows none. */
export const SHOWN_AFTER_MS = 300;

/** The result of a query, a loading sign, or an error. */
export function Loaded<T>(props: {
  query: Loading<T>;
  failed: (error: unknown) => ReactNode;
  children: (data: T) => ReactNode;
}) {
  const { data, error, isPending } = props.query;
  if (data !== undefined)
    return (
      <>
        {error ? props.failed(error) : null}
        {props.children(data)}
      </>
    );
  return isPending ? <LateSkeleton /> : props.failed(error);
}

function LateSkeleton() {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), SHOWN_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return <LoadingRows isShown={isLate} />;
}

/** The place of what is on its way. */
export function LoadingRows({ isShown = true }: { isShown?: boolean }) {
  const { t } = useTranslation();
  return (
    <Stack gap="xs" role="status" aria-label={t('common.loading')} mih={120}>
      {isShown && [1, 2, 3].map((row) => <Skeleton key={row} height={36} />)}
    </Stack>
  );
}
