import { Menu } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';

/** The menu entry of the playground. */
export function PlaygroundItem({ onOpen }: { onOpen: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
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
