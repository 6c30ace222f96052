import { Button, Menu, Text, useMantineColorScheme } from '@mantine/core';
import type { Session } from '@posthorn/sdk/index.ts';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAuth } from '../api/api-context.ts';
import { textOf } from '../api/api-error.tsx';
import { chooseLanguage, LANGUAGES, type Language } from '../i18n/start.ts';
import { usePlayground } from '../pages/playground/use-playground.ts';
import { PlaygroundItem } from './playground-item.tsx';

const THEMES = ['auto', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

export function PersonMenu({ user }: { user: Session }) {
  const { t, i18n } = useTranslation();
  const auth = useAuth();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [opened, setOpened] = useState(false);
  const leaving = useMutation({ mutationFn: auth.signOut });
  // Fetched before the menu opens: an entry that appears later would move the others away from the pointer.
  const { data: playground } = usePlayground();
  return (
    <Menu position="bottom-end" width={240} closeOnItemClick={false} opened={opened} onChange={setOpened}>
      <Menu.Target>
        <Button
          variant="default"
          size="compact-sm"
          maw="11rem"
          aria-label={t('common.navigation.open', { name: user.name })}
        >
          <span className="one-line">{user.name}</span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Text size="sm" px="sm" py="xs" className="foreign">
          {user.email} ({t(`settings.roles.${user.role as 'owner'}`, user.role)})
        </Text>
        <Menu.Divider />
        <Menu.Label>{t('common.navigation.theme')}</Menu.Label>
        <Menu.RadioGroup value={colorScheme} onChange={(name) => setColorScheme(name as Theme)}>
          {THEMES.map((name) => (
            <Menu.RadioItem key={name} value={name}>
              {t(`common.navigation.themes.${name}`)}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Label>{t('common.navigation.language')}</Menu.Label>
        <Menu.RadioGroup
          value={i18n.language}
          onChange={(code) => void chooseLanguage(i18n, code as Language)}
        >
          {Object.entries(LANGUAGES).map(([code, name]) => (
            <Menu.RadioItem key={code} value={code}>
              {name}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        {playground?.enabled && <PlaygroundItem onOpen={() => setOpened(false)} />}
        <Menu.Item component="a" href={`${auth.baseUrl}/docs`} target="_blank" rel="noreferrer">
          {t('common.navigation.reference')}
        </Menu.Item>
        {leaving.error && (
          <Text size="sm" px="sm" role="alert">
            {textOf(t, leaving.error)}
          </Text>
        )}
        <Menu.Item disabled={leaving.isPending} onClick={() => leaving.mutate()}>
          {t('common.navigation.signOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
