import { Menu } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { usePlayground } from '../pages/playground/use-playground.ts';

/** The way to the playground, where there is one. */
export function PlaygroundItem({ onOpen }: { onOpen: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { data } = usePlayground();
  if (!data?.enabled) return null;
  return (
    <Menu.Item
      onClick={() => {
        onOpen();
        void navigate({ to: '/playground' });
      }}
    >
      {t('playground.title')}
    </Menu.Item>
  );
}
